"""``LexicalSelector``: the local selector, which needs no network and no key."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Final

import numpy as np
import numpy.typing as npt

from router.errors import RouterError
from router.models import HarnessState, Selection, ToolDescriptor
from router.selectors.facts import Facts, prepare
from router.selectors.features import Features, features
from router.selectors.lexical import as_words
from router.selectors.model import (
    WEIGHTS,
    WEIGHTS_WITH_SIMILARITY,
    Model,
    load_model,
)
from router.selectors.pairs import pair_sources
from router.selectors.reading import calls_so_far, observed_terms, read_goal
from router.selectors.reasons import LaterTexts, reasons, reasons_for_none
from router.selectors.registry import Registry, best

__all__ = ["LexicalSelector", "Similarity", "default_selector"]

Floats = npt.NDArray[np.float64]
Similarity = Callable[[str, Sequence[ToolDescriptor]], npt.NDArray[np.float64]]
"""Of a goal and n tools: [SIMILARITIES, n], each -1 to 1; see ``router.selectors.match``."""

SHELF: Final = 64
"""The model looks at so many tools; of more, at the most likely ones by their words."""

KEPT_LISTS: Final = 8


class LexicalSelector:
    """Words of goal and tools, and what has been done so far, in a log-linear model.

    Deterministic. The index of a list of tools is kept for as long as the last few lists are asked
    about; it is the same list where the tools are equal, their schemas too.

    Of more than 64 tools the model sees the 64 most likely by their words alone; the others share,
    by those words, the probability with which the right tool was found to be missing from such a
    shortlist.

    Args:
        similarity: another scorer whose values are further features, for instance
            ``router.selectors.embedding_features.similarity_of``; it must not raise. Then the
            weights fitted with that one are used.
        model: weights; None: those that come with the package.

    Raises:
        RouterError: a model for use with a similarity without one, or the other way round.
    """

    def __init__(self, similarity: Similarity | None = None, model: Model | None = None) -> None:
        if model is None:
            model = _shipped(similarity is not None)
        if model.similarity != (similarity is not None):
            wanted = "one" if model.similarity else "None"
            raise RouterError(f"similarity: wanted {wanted} for the weights {model.version}")
        self._model = model
        self._similarity = similarity
        self._kept: list[_Kept] = []

    @property
    def version(self) -> str:
        """Name and version of the weights."""
        return self._model.version

    async def select(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], deadline: float | None = None
    ) -> Selection:
        """``select_now``; the deadline is not looked at."""
        return self.select_now(state, tools)

    def select_now(self, state: HarnessState, tools: Sequence[ToolDescriptor]) -> Selection:
        """As ``LocalSelector.select_now``."""
        if not tools:
            return Selection(None, {}, 1.0, "local", self.version)
        kept = self._keep(tools)
        facts, chosen, first = self._shelf(kept, state, SHELF)
        found = self._features(state, facts)
        pairs = self._model.pair_scores(found, facts)
        scores = self._model.scores(found, facts, pairs)
        probabilities = self._model.probabilities(scores)
        spread = self._spread(probabilities[:-1], chosen, first, kept)
        none_fits = float(probabilities[-1]) * (1.0 if chosen is None else 1.0 - kept.missed)
        top = int(np.argmax(probabilities[:-1]))
        fits = probabilities[top] >= probabilities[-1]
        return Selection(
            tool=facts.tools[top].name if fits else None,
            probabilities=dict(zip(kept.names, spread.tolist(), strict=True)),
            none_fits=none_fits,
            source="local",
            version=self.version,
            why=LaterTexts(
                partial(reasons, self._model, found, facts, pairs, top)
                if fits
                else partial(reasons_for_none, found, facts, top)
            ),
        )

    def shortlist(
        self, state: HarnessState, tools: Sequence[ToolDescriptor], size: int
    ) -> list[int]:
        """As ``LocalSelector.shortlist``."""
        if not tools or size <= 0:
            return []
        kept = self._keep(tools)
        facts, chosen, first = self._shelf(kept, state, max(SHELF, min(size, 4 * SHELF)))
        found = self._features(state, facts)
        pairs = self._model.pair_scores(found, facts)
        scores = self._model.scores(found, facts, pairs)[:-1]
        order = best(scores, len(scores))
        if chosen is None or first is None:
            return [int(i) for i in order[:size]]
        ranked = [int(i) for i in chosen[order]]
        if size > len(ranked):
            seen = set(ranked)
            ranked += [int(i) for i in best(first, len(first)) if int(i) not in seen]
        return ranked[:size]

    def _features(self, state: HarnessState, facts: Facts) -> Features:
        values = None
        if self._similarity is not None:
            given = np.asarray(self._similarity(state.goal, facts.tools), dtype=float)
            values = np.nan_to_num(given, nan=0.0, posinf=1.0, neginf=-1.0)
        return features(state, facts, self._model.turn, values)

    def _keep(self, tools: Sequence[ToolDescriptor]) -> "_Kept":
        """The index of ``tools``: a kept one, or a new one."""
        offered = tuple(tools)
        schemas = [tool.schema for tool in offered]
        for kept in self._kept:
            if kept.tools == offered and kept.schemas == schemas:
                return kept
        kept = _Kept(offered, self._model)
        self._kept = [kept, *self._kept[: KEPT_LISTS - 1]]
        return kept

    def _shelf(
        self, kept: "_Kept", state: HarnessState, size: int
    ) -> tuple[Facts, npt.NDArray[np.int64] | None, Floats | None]:
        """The tools for the model; of many also which they are, and the words' scores of all."""
        if kept.registry is None:
            assert kept.facts is not None
            return kept.facts, None, None
        calls = calls_so_far(state, kept.index)
        ids = [kept.index[call.tool] for call in calls if call.tool in kept.index]
        last = kept.prepared[ids[-1]].words.name if ids else ()
        earlier = [part for i in ids[:-1] for part in kept.prepared[i].words.name]
        goal = read_goal(state.goal)
        first = kept.registry.scores(goal, pair_sources(goal, last, 0.5, earlier))
        chosen = best(first, size)
        facts = Facts(
            [kept.prepared[i] for i in chosen],
            self._model.background,
            wanted=(*goal.terms, *goal.groups, *observed_terms(state)),
        )
        return facts, chosen, first

    def _spread(
        self,
        probabilities: Floats,
        chosen: npt.NDArray[np.int64] | None,
        first: Floats | None,
        kept: "_Kept",
    ) -> Floats:
        """[n] probabilities of all tools."""
        if chosen is None or first is None:
            return probabilities
        rest = np.maximum(first, 0.0) + 1e-3
        rest[chosen] = 0.0
        spread: Floats = kept.missed * rest / rest.sum()
        spread[chosen] = probabilities * (1.0 - kept.missed)
        return spread


class _Kept:
    """The index of one list of tools."""

    def __init__(self, tools: tuple[ToolDescriptor, ...], model: Model) -> None:
        self.tools = tools
        self.schemas = [tool.schema for tool in tools]
        self.names = [tool.name for tool in tools]
        self.prepared = prepare(tools, as_words(tools), model.pairs)
        self.index = {name: i for i, name in enumerate(self.names)}
        self.missed = model.missed
        self.facts: Facts | None = None
        self.registry: Registry | None = None
        if len(tools) <= SHELF:
            self.facts = Facts(self.prepared, model.background)
        else:
            self.registry = Registry(self.prepared, model.pairs)


@cache
def _shipped(similarity: bool) -> Model:
    return load_model(WEIGHTS_WITH_SIMILARITY if similarity else WEIGHTS)


@cache
def default_selector() -> LexicalSelector:
    """The selector with the weights of the package, one for the process."""
    return LexicalSelector()
