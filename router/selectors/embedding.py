"""``MiniLM``: texts as vectors, by a small model that runs here; the ``embeddings`` extra.

all-MiniLM-L6-v2 with int8 weights under onnxruntime, on one thread. A text is kept in two forms:
one vector (mean of its tokens' vectors, Reimers & Gurevych 2019, section 3), and one vector per
token, which ``router.selectors.embedding_features`` matches with those of a goal.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.selectors.embedding_files import MODEL, TOKENIZER, read_checked, runtime_module

__all__ = ["DIMENSIONS", "EmbeddedText", "MiniLM"]

DIMENSIONS: Final = 384
TEXT_LIMIT: Final = 4_000
"""Characters of a text that the tokenizer sees; more than ``MAX_TOKENS`` of any writing."""

MAX_TOKENS: Final = 128
BATCH: Final = 16
CACHE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedText:
    """A text as the model reads it.

    Attributes:
        ids: int64 [t], the WordPiece tokens without the marks at both ends; t may be 0.
        tokens: float16 [t, 384], a vector of length 1 for each, in its context.
        vector: float32 [384], of length 1, for the text as a whole.
    """

    ids: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.float16]
    vector: npt.NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays, bytes."""
        return self.ids.nbytes + self.tokens.nbytes + self.vector.nbytes


class MiniLM:
    """The model, with the texts that it has read lately.

    Nothing is loaded before the first text (some .5 s, 150 MB) or before ``load``. Of a text it
    sees the first 128 tokens, about 90 English words. It was trained on English; other languages
    that it has letters for are matched by names and numbers more than by meaning.

    A text gives the same vectors on the same machine, alone and among others, to about 1e-6.
    Calls from several threads wait for each other.

    Args:
        cache_bytes: memory for texts that have been read, at least that of the texts of one call;
            the least recently used go first. A tool of 30 words takes about 30 kB.
    """

    def __init__(self, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[str, EmbeddedText] = OrderedDict()
        self._cached_bytes = 0
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None

    @property
    def version(self) -> str:
        """Name of the model, with the beginning of its file's hash."""
        return f"minilm-int8-{MODEL.sha256[:8]}"

    def load(self) -> None:
        """Load the model now rather than with the first text.

        Raises:
            EmbeddingsError: the extra is not installed, or a file of it is not the one we know.
        """
        with self._lock:
            self._load()

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """[len(texts), 384] vectors of length 1.

        Raises:
            EmbeddingsError: as ``load``.
        """
        result = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, embedded in zip(result, self.embed(texts), strict=True):
            row[:] = embedded.vector
        return result

    def similarity(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """[len(texts)] cosines of the query's vector with the texts', -1 to 1.

        Raises:
            EmbeddingsError: as ``load``.
        """
        vectors = self.encode([query, *texts])
        cosines: npt.NDArray[np.float32] = np.clip(vectors[1:] @ vectors[0], -1.0, 1.0)
        return cosines

    def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Both forms of each text, in order; texts not in the cache are read, shortest first.

        Raises:
            EmbeddingsError: as ``load``.
        """
        cut = [text[:TEXT_LIMIT] for text in texts]
        with self._lock:
            fresh = self._read([text for text in dict.fromkeys(cut) if text not in self._cache])
            found = [fresh[text] if text in fresh else self._cache[text] for text in cut]
            self._keep(zip(cut, found, strict=True))
        return found

    def _load(self) -> None:
        if self._session is not None:
            return
        runtime, tokenizers = runtime_module("onnxruntime"), runtime_module("tokenizers")
        tokenizer = tokenizers.Tokenizer.from_str(read_checked(TOKENIZER).decode())
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        model = read_checked(MODEL)
        self._session = runtime.InferenceSession(model, options, ["CPUExecutionProvider"])
        self._tokenizer = tokenizer

    def _read(self, texts: Sequence[str]) -> dict[str, EmbeddedText]:
        """Run the model over texts; those of like length together, as padding costs time."""
        if not texts:
            return {}
        self._load()
        # One by one: a batch would start threads. A lone surrogate is no text for the tokenizer.
        rows = [self._tokenizer.encode(t.encode("utf-8", "replace").decode()).ids for t in texts]
        order = sorted(range(len(texts)), key=lambda i: len(rows[i]))
        found = {}
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            for i, embedded in zip(batch, self._run([rows[i] for i in batch]), strict=True):
                found[texts[i]] = embedded
        return found

    def _run(self, rows: Sequence[Sequence[int]]) -> list[EmbeddedText]:
        """Texts as token ids with the marks at both ends -> what the model makes of them."""
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
            mask[i, : len(row)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feed)[0]
        return [_embedded(ids[i, : len(row)], hidden[i, : len(row)]) for i, row in enumerate(rows)]

    def _keep(self, pairs: Iterable[tuple[str, EmbeddedText]]) -> None:
        """Put texts in front of the cache, and let the oldest go where it is full."""
        for text, embedded in pairs:
            if text in self._cache:
                self._cache.move_to_end(text)
            else:
                self._cache[text] = embedded
                self._cached_bytes += embedded.nbytes
        while self._cached_bytes > self._cache_bytes and self._cache:
            _, oldest = self._cache.popitem(last=False)
            self._cached_bytes -= oldest.nbytes


def _embedded(ids: npt.NDArray[np.int64], hidden: npt.NDArray[np.float32]) -> EmbeddedText:
    """From the last layer, marks included: they belong to the mean, but match with nothing."""
    mean, inner = hidden.mean(axis=0), hidden[1:-1]
    lengths = np.linalg.norm(inner, axis=1, keepdims=True)
    return EmbeddedText(
        ids=ids[1:-1].copy(),
        tokens=(inner / np.maximum(lengths, 1e-12)).astype(np.float16),
        vector=(mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32),
    )
