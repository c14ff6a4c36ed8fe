"""What enters a record: the whole text, a keyed hash or nothing; secrets never."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from router.decisions.errors import RecordFieldError
from router.decisions.privacy import MOST_TEXT, Privacy, TextMode, load_key
from router.models import HarnessState, ToolDescriptor
from tests.router.decisions.samples import PICK, STATE, TOOLS, record, store_in

KEY = b"k" * 32
SECRET = "sk-test-0123456789abcdefghij"


def everything(folder: Path) -> bytes:
    """All bytes that lie in the folder of a store."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_full_keeps_every_text() -> None:
    made = record(privacy=Privacy("full", KEY))
    assert (made.state, made.decision.why) == (STATE, PICK.why)


def test_hashed_keeps_the_names_of_options_and_no_other_text() -> None:
    made = record(privacy=Privacy("hashed", KEY))
    state = made.state
    assert state is not None
    assert (state.last_action, state.recent_actions[0].tool) == ("read_file", "read_file")
    hashed = [state.goal, state.observation, state.recent_actions[1].tool, *state.constraints]
    hashed += [action.outcome for action in state.recent_actions]
    hashed += [state.recent_actions[0].arguments_hash]
    assert all(text is not None and text.startswith("h:") for text in hashed)
    assert made.decision.why == ()
    assert not made.replayable


def test_equal_texts_have_equal_hashes_under_one_key_only() -> None:
    one, other = Privacy("hashed", KEY), Privacy("hashed", b"x" * 32)
    assert one.hash("goal") == Privacy("hashed", KEY).hash("goal")
    assert one.hash("goal") != one.hash("goal ")
    assert one.hash("goal") != other.hash("goal")
    assert one.hash("g" * 100) == one.hash("g" * 100)


def test_none_keeps_no_state_at_all() -> None:
    made = record(privacy=Privacy("none", KEY))
    assert (made.state, made.decision.why, made.text) == (None, (), "none")


def test_a_huge_state_is_hashed_though_the_mode_is_full() -> None:
    state, text, _ = Privacy("full", KEY).state(HarnessState("x" * (MOST_TEXT + 1)), ())
    assert text == "hashed"
    assert state is not None
    assert len(state.goal) < 40


@pytest.mark.parametrize("mode", ["full", "hashed", "none"])
def test_the_file_holds_texts_only_where_that_is_asked_for(mode: TextMode, tmp_path: Path) -> None:
    with store_in(tmp_path) as store:
        store.add(record(privacy=Privacy(mode, store.key), session="session-7"))
        found = everything(tmp_path)
    for text in (STATE.goal, str(STATE.observation), STATE.constraints[0], PICK.why[0]):
        assert (text.encode() in found) == (mode == "full")
    assert b"session-7" not in found


@pytest.mark.parametrize("mode", ["full", "hashed", "none"])
@pytest.mark.parametrize("variable", ["OPENROUTER_API_KEY", "MY_SERVICE_TOKEN", "OWN"])
def test_the_value_of_a_secret_variable_enters_no_record(
    mode: TextMode, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "v3ry-s3cret-value")
    state = HarnessState(
        "use v3ry-s3cret-value", "it printed v3ry-s3cret-value", constraints=["v3ry-s3cret-value!"]
    )
    tools = [ToolDescriptor("call", "calls with v3ry-s3cret-value"), *TOOLS]
    decision = replace(PICK, why=("v3ry-s3cret-value stands in the goal",))
    with store_in(tmp_path) as store:
        privacy = Privacy(mode, store.key, ["OWN"])
        made = type(record()).from_decision("tool", state, tools, decision, privacy)
        store.add(made)
        kept = store.get(made.id)
        found = everything(tmp_path)
    assert b"s3cret" not in found
    assert kept.options.tools[0].description == "calls with [redacted]"
    assert kept.redacted == (mode != "none")
    assert not kept.replayable
    if mode == "full":
        assert kept.state is not None
        assert kept.state.goal == "use [redacted]"
        assert kept.decision.why == ("[redacted] stands in the goal",)


def test_a_secret_in_a_name_refuses_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "v3ry-s3cret-value")
    for tool in (
        ToolDescriptor("v3ry-s3cret-value", "x"),
        ToolDescriptor("a", "x", schema={"default": "v3ry-s3cret-value"}),
    ):
        with pytest.raises(RecordFieldError, match=r"^options\[0\]\.\w+: got '\[red") as caught:
            type(record()).from_decision("tool", STATE, [tool], PICK, Privacy("full", KEY))
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "secret",
    [
        SECRET,
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "AKIA0123456789ABCDEF",
        "xoxb-1234567890-abc",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE that was cut off",
    ],
)
def test_texts_shaped_like_keys_are_taken_out(secret: str) -> None:
    assert Privacy("full", KEY).scrub(f"a {secret}") == "a [redacted]"


def test_words_that_only_look_like_keys_stay() -> None:
    privacy = Privacy("full", KEY)
    for text in ("task-list", "a Bearer authentication_mechanism", "sk-8", "AKIA", "risk-free"):
        assert privacy.scrub(text) == text
    assert privacy.scrub("Bearer abcdef0123456789abcdef") == "Bearer [redacted]"


def test_short_values_of_variables_are_words_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("DB_PASSWORD", "postgres")
    privacy = Privacy("full", KEY)
    privacy.look()
    assert privacy.scrub("test postgres") == "test postgres"


def test_a_key_set_while_we_run_is_seen_at_the_next_record(monkeypatch: pytest.MonkeyPatch) -> None:
    privacy = Privacy("full", KEY)
    assert privacy.look() in (True, False)
    monkeypatch.setenv("TYPESAFE_API_KEY", "another-value")
    assert privacy.look()
    assert not privacy.look()
    assert privacy.scrub("another-value") == "[redacted]"


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.key"
    key = load_key(path)
    assert len(key) == 32
    assert load_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_that_was_cut_off_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "records.key"
    path.write_bytes(b"short")
    assert len(load_key(path)) == 32
    (aside,) = [other for other in tmp_path.iterdir() if other != path]
    assert aside.read_bytes() == b"short"


@pytest.mark.parametrize(("mode", "key"), [("some", KEY), ("full", b"short")])
def test_an_unknown_mode_and_a_short_key_are_refused(mode: TextMode, key: bytes) -> None:
    with pytest.raises(RecordFieldError, match=r"^(text|key): got"):
        Privacy(mode, key)
