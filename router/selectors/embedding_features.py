"""How well each tool on offer matches a goal, token by token: two features from ``MiniLM``.

With q_i the goal's token vectors and t_j a tool's, of length 1 and in their context, after
BERTScore (Zhang et al. 2020, recall and precision with weights, section 3) and ColBERT's MaxSim
(Khattab & Zaharia 2020, eq. 3):

    goal in tool = sum_i a_i max_j q_i . t_j / sum_i a_i        how much of the goal the tool says
    tool in goal = sum_j b_j max_i q_i . t_j / sum_j b_j        how much of the tool the goal says

The weights come from the list of tools itself: a_i is the standard deviation of max_j q_i . t_j
over the tools, so that tokens count on which the tools differ; b_j is the idf of the token over
the tools (as BM25's, Robertson & Zaragoza 2009, eq. 3.3 and above 0), so that tokens which all
tools share count little. Both are better than the cosine of whole texts, by which a long
description hides the one word that matters (``experiments.tool_choice.report --similarity``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router.models import HarnessState, ToolDescriptor
from router.selectors.embedding import EmbeddedText, MiniLM
from router.selectors.local import LexicalSelector, Similarity
from router.words import words

__all__ = [
    "COLUMNS",
    "embedding_features",
    "embedding_selector",
    "match",
    "similarity_of",
    "tool_text",
]

Floats = npt.NDArray[np.float64]

COLUMNS: Final = ("goal in tool", "tool in goal")
"""Columns of ``embedding_features``, each -1 to 1, mostly .2 to .8."""

TEXT_LIMIT: Final = 2_000
"""Characters of a goal or a description; the model's own limit in tokens comes earlier."""

PARAMETER_LIMIT: Final = 32
SPREAD_FLOOR: Final = 0.01
"""Added to the spread: with one tool, or equal ones, all tokens of the goal count the same."""


def embedding_selector() -> LexicalSelector:
    """The local selector with the ``embeddings`` extra.

    Raises:
        EmbeddingsError: as ``MiniLM.load``.
    """
    model = MiniLM()
    model.load()
    return LexicalSelector(similarity_of(model))


def similarity_of(model: MiniLM) -> Similarity:
    """The model as a ``LexicalSelector``'s ``similarity``.

    The cosine of goal and tool as whole texts, then the two columns of ``embedding_features``.

    What it returns raises ``EmbeddingsError`` as ``MiniLM.load``; call that first.
    """

    def of(goal: str, tools: Sequence[ToolDescriptor]) -> Floats:
        if not tools:
            return np.zeros((1 + len(COLUMNS), 0))
        asked, *offered = model.embed([goal[:TEXT_LIMIT], *map(tool_text, tools)])
        cosines = np.stack([tool.vector for tool in offered]) @ asked.vector
        return np.concatenate([cosines[None].astype(float), match(asked, offered).T])

    return of


def embedding_features(
    model: MiniLM, state: HarnessState, tools: Sequence[ToolDescriptor]
) -> Floats:
    """[len(tools), len(COLUMNS)] of each tool with the state's goal.

    The goal and each tool are texts in the model's cache, so only new ones cost time. Meant for a
    short list: a hundred tools at most.

    Raises:
        EmbeddingsError: as ``MiniLM.load``.
    """
    if not tools:
        return np.zeros((0, len(COLUMNS)))
    goal, *offered = model.embed([state.goal[:TEXT_LIMIT], *map(tool_text, tools)])
    return match(goal, offered)


def tool_text(tool: ToolDescriptor) -> str:
    """The words of the name, the description, and the words of the parameters' names."""
    properties = tool.schema.get("properties") if isinstance(tool.schema, Mapping) else None
    names = list(properties)[:PARAMETER_LIMIT] if isinstance(properties, Mapping) else []
    parameters = ", ".join(" ".join(words(name)) for name in names if isinstance(name, str))
    text = f"{' '.join(words(tool.name))}: {tool.description[:TEXT_LIMIT]}"
    return f"{text} {parameters}" if parameters else text


def match(goal: EmbeddedText, tools: Sequence[EmbeddedText]) -> Floats:
    """[len(tools), len(COLUMNS)] as the head of the file says; 0 where a text has no tokens."""
    result = np.zeros((len(tools), len(COLUMNS)))
    lengths = [len(tool.ids) for tool in tools]
    filled = [i for i, length in enumerate(lengths) if length]
    if not len(goal.ids) or not filled:
        return result
    ids = np.concatenate([tools[i].ids for i in filled])
    starts = np.cumsum([0, *(lengths[i] for i in filled[:-1])])
    tokens = np.concatenate([tools[i].tokens for i in filled]).astype(np.float32)
    cosines = goal.tokens.astype(np.float32) @ tokens.T

    of_goal = np.maximum.reduceat(cosines, starts, axis=1).astype(float)  # [goal tokens, tools]
    spread = of_goal.std(axis=1) + SPREAD_FLOOR
    result[filled, 0] = spread @ of_goal / spread.sum()

    of_tools = cosines.max(axis=0).astype(float)  # [tokens of all tools]
    rarity = _rarity(ids, [tools[i].ids for i in filled])
    result[filled, 1] = np.add.reduceat(of_tools * rarity, starts) / np.add.reduceat(rarity, starts)
    return result


def _rarity(ids: npt.NDArray[np.int64], texts: Sequence[npt.NDArray[np.int64]]) -> Floats:
    """[len(ids)] ln(1 + (n - df + .5) / (df + .5)), df of n texts having the token; above 0."""
    having = Counter(token for text in texts for token in set(text.tolist()))
    frequency = np.array([having[token] for token in ids.tolist()], dtype=float)
    return np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
