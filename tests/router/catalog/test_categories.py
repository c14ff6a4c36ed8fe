"""infer_category: the field of work by words, else by the verb."""

from typing import Any

import pytest

from router.catalog import CATEGORIES, infer_category


@pytest.mark.parametrize(
    ("name", "description", "category"),
    [
        ("read_file", "Read the contents of a file", "inspect"),
        ("list_directory", "List the files of a directory", "inspect"),
        ("grep", "Find a pattern in files", "inspect"),
        ("query", "Run a read-only SQL query", "inspect"),
        ("write_file", "Write a file", "mutate"),
        ("delete_note", "", "mutate"),
        ("bash", "Run a shell command", "execute"),
        ("python_repl", "", "execute"),
        ("run_tests", "Run the test suite", "verify"),
        ("lint", "Run the linter", "verify"),
        ("get_test_report", "Get the report of a test run", "inspect"),
        ("git_diff", "Show changes that are not staged", "git"),
        ("create_branch", "Create a branch", "git"),
        ("browser_click", "Click an element", "browser"),
        ("take_screenshot", "Take a screenshot of the page", "browser"),
        ("remember", "Save a fact for later", "memory"),
        ("read_graph", "Read the entire knowledge graph", "memory"),
        ("fetch_url", "Fetch a URL and return its text", "network"),
        ("web_search", "Search the web", "network"),
        ("send_email", "Send an email", "network"),
        ("finish", "", "finish"),
        ("final_answer", "Give the final answer", "finish"),
        ("respondToUser", "", "finish"),
        ("do_it", "", "general"),
        ("frobnicate", "Frobs the knob", "general"),
    ],
)
def test_the_category_is_what_the_words_say(name: str, description: str, category: str) -> None:
    assert category in CATEGORIES
    assert infer_category(name, description) == category


@pytest.mark.parametrize(
    ("name", "category"),
    [("show_latest", "inspect"), ("get_digit", "inspect"), ("mark_done", "mutate")],
)
def test_parts_of_words_do_not_count(name: str, category: str) -> None:
    assert infer_category(name, "") == category


def test_fields_of_the_schema_count() -> None:
    schema = {"properties": {"url": {"type": "string"}}}
    assert infer_category("load", "Load a document from the web") == "inspect"
    assert infer_category("load", "Load a document from the web", schema) == "inspect"
    assert infer_category("load_web", "Load a document") == "network"
    assert infer_category("fetch", "Get a document", schema) == "network"


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ({"readOnlyHint": True}, "inspect"),
        ({"destructiveHint": True}, "mutate"),
        ({}, "general"),
        (None, "general"),
        ("readOnlyHint", "general"),
    ],
)
def test_annotations_stand_in_for_a_verb(said: Any, category: str) -> None:
    assert infer_category("frobnicate", "", None, said) == category
