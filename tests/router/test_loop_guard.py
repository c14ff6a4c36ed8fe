"""The loop guard finds repeats and small circles, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcts_core.errors import ConfigError
from router.loop_guard import Action, Loop, LoopGuard, hash_of_arguments


def known(names: str) -> list[Action]:
    """One action per letter, arguments known."""
    return [Action(name, arguments=name) for name in names]


def found(names: str, repeats: int = 2) -> list[Loop | None]:
    guard = LoopGuard(repeats)
    return [guard.record(action) for action in known(names)]


@pytest.mark.parametrize(
    ("names", "last"),
    [
        ("aa", None),
        ("aaa", "repeat"),
        ("abab", "alternation"),
        ("aba", None),
        ("abcabc", "alternation"),
        ("abcdabcd", "alternation"),
        ("abcdeabcde", None),
        ("abba", None),
        ("aabaa", None),
        ("xabab", "alternation"),
        ("ababc", None),
    ],
)
def test_the_last_action_closes_a_loop_or_does_not(names: str, last: str | None) -> None:
    assert found(names)[-1] == last


def test_how_often_is_a_setting() -> None:
    assert found("aaaa", repeats=3) == [None, None, None, "repeat"]
    assert found("aa", repeats=1) == [None, "repeat"]
    with pytest.raises(ConfigError, match="max_same_action_repeats: got 0"):
        LoopGuard(0)


def naive(names: list[str], repeats: int) -> Loop | None:
    text = "".join(names)
    if len(text) > repeats and len(set(text[-repeats - 1 :])) == 1:
        return "repeat"
    for period in (2, 3, 4):
        tail = text[-2 * period :]
        if len(tail) == 2 * period and tail[:period] == tail[period:] and len(set(tail)) > 1:
            return "alternation"
    return None


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 5))
def test_it_equals_a_search_through_the_whole_history(names: list[str], repeats: int) -> None:
    guard = LoopGuard(repeats)
    for i, name in enumerate(names):
        expected = naive(names[: i + 1], repeats)
        assert guard.would_close(name) == (expected if name in names[:i][-8:] else None)
        assert guard.record(Action(name, arguments="x")) == expected


def test_other_arguments_or_another_result_are_progress() -> None:
    guard = LoopGuard()
    reads = [Action("read", arguments=name, result="ok") for name in "abc"]
    assert [guard.record(action) for action in reads] == [None] * 3
    tests = [Action("test", "x", result) for result in ("fail", "fail", "pass")]
    assert [guard.record(action) for action in tests] == [None] * 3


def test_unknown_arguments_are_told_apart_by_the_result_alone() -> None:
    guard = LoopGuard()
    assert [guard.record(Action("read")) for _ in range(9)] == [None] * 9
    errors = [guard.record(Action("read", result="error")) for _ in range(3)]
    assert errors == [None, None, "repeat"]


def test_a_choice_is_warned_of_before_it_runs() -> None:
    guard = LoopGuard()
    for action in known("aba"):
        guard.record(action)
    assert guard.would_close("b") == "alternation"
    assert guard.would_close("a") is None
    assert guard.would_close("c") is None
    guard.reset()
    assert guard.would_close("b") is None


def test_a_digest_depends_on_values_not_on_their_order_and_hides_them() -> None:
    one = hash_of_arguments({"path": "a", "token": "secret"})
    assert one == hash_of_arguments({"token": "secret", "path": "a"})
    assert one != hash_of_arguments({"path": "b", "token": "secret"})
    assert "secret" not in str(one)
    assert hash_of_arguments(None) is None
    circle: dict[object, object] = {1: "x", "y": {2, 3}}
    circle["self"] = circle
    assert hash_of_arguments(circle) is not None  # type: ignore[arg-type]
