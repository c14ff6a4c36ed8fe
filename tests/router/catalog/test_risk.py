"""infer_risk: annotations first, then whole words, and doubt goes upwards."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.catalog import infer_risk
from router.catalog.lexicon import lexicon
from router.models import RiskLevel


def risk(name: str, description: str = "", **given: Any) -> str:
    return infer_risk(name, description, **given).value


@pytest.mark.parametrize(
    ("name", "description", "level"),
    [
        # Reading.
        ("read_file", "Read the contents of a file", "low"),
        ("search_code", "Search repository source", "low"),
        ("web_search", "Search the web", "low"),
        ("git_status", "Show the working tree status", "low"),
        ("ls", "", "low"),
        ("count_tokens", "Count the tokens of a text", "low"),
        ("get_order_status", "Get the status of an order", "low"),
        ("x", "Performs a search over all notes", "low"),
        ("x", "Runs a search over all notes", "low"),
        # Changes that are local or can be undone.
        ("edit_file", "Make line-based edits to a text file", "medium"),
        ("git_commit", "Record changes to the repository", "medium"),
        ("create_issue", "Create a new issue", "medium"),
        ("get_or_create_user", "Get a user, creating it if there is none", "medium"),
        ("find_and_replace", "Find a text and replace it", "medium"),
        ("run_tests", "Run the test suite", "medium"),
        ("go_back", "Go back to the previous page", "medium"),
        # Nothing known.
        ("do_it", "", "medium"),
        ("frobnicate", "Frobs the knob", "medium"),
        ("vaporise_list", "", "medium"),
        # Destroys, acts on the outside, runs anything.
        ("delete_branch", "", "high"),
        ("branch_delete", "", "high"),
        ("deleteBranch", "", "high"),
        ("list_remove", "", "high"),
        ("clean_up_files", "", "high"),
        ("cleanup", "Cleanup all managed resources", "high"),
        ("manage_files", "Read, edit or delete files", "high"),
        ("send_email", "Send an email to one or more recipients", "high"),
        ("merge", "Merge the branch and return the commit", "high"),
        ("git_push", "Update remote refs along with their objects", "high"),
        ("bash", "Run a shell command", "high"),
        ("execute_sql", "Executes raw SQL on the database", "high"),
        ("x", "Useful for removing stale branches", "high"),
        ("x", "Allows you to delete a user", "high"),
        ("scale", "Scale a Kubernetes deployment", "high"),
        ("update_member_role", "Change the role of a member", "high"),
        ("get_secret", "Get the value of a secret", "high"),
        # Money, credentials, whole stores.
        ("pay_invoice", "Pay an open invoice", "critical"),
        ("create_payment", "", "critical"),
        ("transfer_funds", "Transfer money between two accounts", "critical"),
        ("place_order", "Place an order for a product", "critical"),
        ("rotate_api_key", "Rotate an API key", "critical"),
        ("drop_table", "Drop a table from the database", "critical"),
        ("delete_repository", "Delete a repository", "critical"),
        ("erase", "Irreversibly erases all data on the drive", "critical"),
    ],
)
def test_the_risk_is_what_the_words_say(name: str, description: str, level: str) -> None:
    assert risk(name, description) == level


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_latest_release", "Get the latest release"),
        ("get_digit", "Get a digit"),
        ("list_deleted_files", "List files that were deleted"),
        ("getUserDeletions", "Get deletions by a user"),
        ("show_undeletable", "Show what resists"),
        ("read_payload", "Read the payload of a request"),
        ("get_sender", "Get who sent a message"),
    ],
)
def test_only_whole_words_count(name: str, description: str) -> None:
    assert risk(name, description) == "low"


@pytest.mark.parametrize(
    "description",
    [
        "Read a page. Use delete_page to delete it instead.",
        "Read a page. Use `delete_page` for deleting.",
        "Read a page. Prefer this to read_all, then call delete_page (deletes the page).",
        "Read a page; it does not delete or modify anything.",
        "Read a page before it is deleted",
        "Read a page without changing it. Never deletes.",
        "Read a page. You must call delete_page first.",
        "Read a page. To delete pages, use the deletion tool.",
    ],
)
def test_what_other_tools_do_is_not_what_this_one_does(description: str) -> None:
    assert risk("read_page", description) == "low"


@pytest.mark.parametrize(
    ("description", "level"),
    [
        ("Read the next message. It removes the message from the queue.", "medium"),
        ("Read the next message. The message is permanently deleted.", "medium"),
        ("Read the next message. Deletes it too.", "medium"),
        ("Read the next message. Delete it from the queue.", "medium"),
        ("Remove the next message.", "high"),
    ],
)
def test_what_a_reading_tool_does_besides_counts(description: str, level: str) -> None:
    assert risk("get_message", description) == level


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("search", "Search for a user and delete the account"),
        ("find_user", "Find a user and ban them"),
        ("explain", "Explain code. It executes the code in a sandbox"),
        ("check_and_repair", "Check a disk and repair it"),
        ("log_out", "Log out everywhere"),
        ("report_user", "Report a user to the moderators"),
        ("look_up_and_buy", ""),
        ("summarize_and_send", "Summarize a thread and send it"),
        ("ask_expert", "Ask an expert. Charges five dollars."),
        ("view", "View, create and edit files"),
    ],
)
def test_what_reads_and_does_something_else_is_not_low(name: str, description: str) -> None:
    assert risk(name, description) != "low"


def test_the_name_weighs_more_than_the_description() -> None:
    assert risk("get_page", "Send a GET request to the server") == "medium"
    assert risk("delete_page", "Read-only. Get a page.") == "high"
    assert risk("update_page", "This cannot be undone.") == "high"


def test_a_query_that_says_it_is_read_only_is_low() -> None:
    assert risk("query", "Run a read-only SQL query") == "low"
    assert risk("run_query", "Run an SQL query") == "high"
    assert risk("run_query", "Run an SQL query. This operation is read-only.") == "low"
    assert risk("ask_db", "Frobs the database; it is read-only and fast") == "low"


@pytest.mark.parametrize(
    "description",
    [
        "Run a command. Not read-only.",
        "Run a command. Read-only commands need no approval.",
        "Run commands, also read-only ones.",
        "Run a command. Do not modify files with it.",
        "Run a command. Does not change the working directory.",
        "Run a command without changing the working directory.",
        "Run a command. It fails if the disk is read-only.",
    ],
)
def test_what_only_sounds_like_reading_does_not_make_a_command_low(description: str) -> None:
    assert risk("run_command", description) == "high"


def test_a_name_that_is_a_noun_as_well_is_settled_by_the_description() -> None:
    assert risk("post_search", "Search by title") == "low"
    assert risk("post_search") == "high"
    assert risk("get_post") == "low"
    assert risk("update_post") == "medium"


@pytest.mark.parametrize(
    ("schema", "level"),
    [
        ({"properties": {"action": {"enum": ["list", "delete"]}}}, "high"),
        ({"properties": {"operation": {"enum": ["get", "set"]}}}, "medium"),
        ({"properties": {"action": {"enum": ["merged_by_me", "approved"]}}}, "low"),
        ({"properties": {"action": {"enum": [None, 3, "", ["delete"], "x" * 9_999]}}}, "low"),
        ({"properties": {"action": "delete"}}, "low"),
        ({"properties": ["action"]}, "low"),
        ({}, "low"),
        (None, "low"),
    ],
)
def test_actions_to_choose_from_are_acts_of_the_tool(schema: Any, level: str) -> None:
    assert risk("view_todo", "View the to-do list", schema=schema) == level


def test_a_field_for_code_makes_an_unknown_tool_high() -> None:
    code = {"properties": {"code": {"type": "string"}}}
    assert risk("frobnicate", schema=code) == "high"
    assert risk("explain_code", "Explain a piece of code", schema=code) == "low"


@pytest.mark.parametrize(
    ("name", "said", "level"),
    [
        ("frobnicate", {"readOnlyHint": True}, "low"),
        ("save_pdf", {"readOnlyHint": True}, "low"),
        ("delete_page", {"readOnlyHint": True}, "medium"),
        ("pay_invoice", {"readOnlyHint": True}, "medium"),
        ("get_page", {"readOnlyHint": True, "destructiveHint": True}, "medium"),
        ("get_page", {"destructiveHint": True}, "high"),
        ("pay_invoice", {"destructiveHint": True}, "critical"),
        ("frobnicate", {"readOnlyHint": False}, "high"),
        ("get_page", {"readOnlyHint": False, "destructiveHint": False}, "medium"),
        ("get_page", {"destructiveHint": False}, "low"),
        ("delete_page", {"destructiveHint": False}, "high"),
        ("send_mail", {"destructiveHint": False}, "high"),
        ("send_mail", {"openWorldHint": False}, "medium"),
        ("delete_page", {"openWorldHint": False}, "high"),
        ("get_page", {"openWorldHint": True, "idempotentHint": False}, "low"),
        ("delete_page", {}, "high"),
        ("get_page", {}, "low"),
        ("delete_page", {"readOnlyHint": "yes", "destructiveHint": 0}, "high"),
        ("delete_page", [], "high"),
    ],
)
def test_annotations_come_first_as_far_as_they_say_something(
    name: str, said: Any, level: str
) -> None:
    assert risk(name, annotations=said) == level


def test_not_destructive_takes_back_what_only_the_description_says_is_lost() -> None:
    text = "Update a page. The old text is overwritten."
    assert risk("update_page", text) == "high"
    assert risk("update_page", text, annotations={"destructiveHint": False}) == "medium"


GRAVE = sorted(
    verb
    for verb, (kind, _, noun_too) in lexicon().verbs.items()
    if lexicon().levels[kind] >= 2 and not noun_too
)
THINGS = st.sampled_from(["page", "file", "latest", "digit", "note", "x"])


@given(st.sampled_from(GRAVE), THINGS, st.booleans())
def test_a_grave_verb_in_a_name_is_never_low(verb: str, thing: str, first: bool) -> None:
    name = f"{verb}_{thing}" if first else f"{thing}_{verb}"
    found = risk(name, f"Get the {thing}")
    assert found in ("high", "critical")
    assert risk(name, f"Get the {thing}", annotations={"readOnlyHint": True}) == "medium"


@given(st.text(max_size=40), st.text(max_size=300))
def test_what_says_it_only_reads_is_never_critical(name: str, description: str) -> None:
    found = infer_risk(name, description, annotations={"readOnlyHint": True})
    assert found in (RiskLevel.LOW, RiskLevel.MEDIUM)


def test_the_lexicon_has_each_verb_once_and_knows_all_its_forms() -> None:
    forms = lexicon().forms
    assert forms["deletes"].kind == forms["deleting"].kind == forms["delete"].kind == "destroy"
    assert (forms["copies"].form, forms["running"].form, forms["pushes"].form) == ("s", "ing", "s")
    assert all(word.islower() and word.isalpha() for word in lexicon().verbs)
