"""The log-linear model of the local selector: weights as data, from features to probabilities.

p(option) = softmax(s / T), a conditional logit (McFadden 1974) over the tools on offer and "none
fits": s(tool) = w . x(tool) + c' W k(tool) + pairs(tool), s(none) = v . y, with x, y the features,
c the contexts that hold, k the kinds of action a tool may be, and T a temperature by the number of
options (Guo et al. 2017, eq. 9).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from router.errors import RouterError
from router.selectors.facts import CLASSES, Facts
from router.selectors.features import CONTEXTS, NONE_FEATURES, Features, tool_features
from router.selectors.history import TURN_INPUTS
from router.selectors.pairs import KINDS, PairWeights
from router.selectors.temperature import Temperatures

__all__ = ["WEIGHTS", "WEIGHTS_WITH_SIMILARITY", "Model", "load_model"]

Floats = npt.NDArray[np.float64]

WEIGHTS: Final = Path(__file__).with_name("local.json")
WEIGHTS_WITH_SIMILARITY: Final = Path(__file__).with_name("local_similarity.json")


class Model:
    """Weights.

    Args:
        data: as a weights file holds it: ``version``; ``similarity``, whether another scorer's
            value is a feature; ``tools``, ``none``, ``turn`` (name -> weight); ``contexts``
            (context -> kind of action -> weight); ``pairs``; ``background``; ``temperatures``
            (least number of options, none fits counted -> T); ``missed``, the share of goals whose
            tool is not on a shortlist of a large registry, 0 to 1.

    Raises:
        RouterError: names of weights that the code does not know, or the other way round.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.version = str(data["version"])
        self.similarity = bool(data["similarity"])
        self.tools = _vector("tools", data["tools"], tool_features(self.similarity))
        self.none = _vector("none", data["none"], NONE_FEATURES)
        self.turn: list[float] = _vector("turn", data["turn"], TURN_INPUTS).tolist()
        contexts = data["contexts"]
        _check_names("contexts", contexts, CONTEXTS)
        self.contexts = np.stack([_vector(c, contexts[c], CLASSES) for c in CONTEXTS])
        _check_names("pairs", data["pairs"], KINDS)
        self.pairs = PairWeights(data["pairs"])
        self.background: Mapping[str, float] = data["background"]
        temperatures = {int(count): float(t) for count, t in data["temperatures"].items()}
        self.temperatures = Temperatures(temperatures, self.version)
        self.missed = float(data["missed"])

    def pair_scores(self, found: Features, facts: Facts) -> Floats:
        """[n] what pairs of words add to s of each tool."""
        return facts.names.of(self.pairs.by_second(found.pairs))

    def scores(self, found: Features, facts: Facts, pairs: Floats) -> Floats:
        """[n + 1] s of each tool and, last, of "none fits"; ``pairs``: their ``pair_scores``."""
        result = np.empty(facts.n + 1)
        result[:-1] = np.einsum("f,fn->n", self.tools, found.tools)  # not by BLAS: its threads cost
        result[:-1] += facts.kinds @ (found.contexts @ self.contexts)
        result[:-1] += pairs
        result[-1] = self.none @ found.none
        return result

    def probabilities(self, scores: Floats) -> Floats:
        """[n + 1] softmax(scores / T)."""
        scaled = scores / self.temperatures.at(len(scores))
        raised = np.exp(scaled - scaled.max())
        result: Floats = raised / raised.sum()
        return result


def load_model(path: Path) -> Model:
    """The weights of a file.

    Raises:
        RouterError: as ``Model``.
    """
    return Model(json.loads(path.read_text(encoding="utf-8")))


def _check_names(what: str, got: Mapping[str, Any], wanted: tuple[str, ...]) -> None:
    if set(got) != set(wanted):
        differing = ", ".join(sorted(set(got) ^ set(wanted))[:5])
        raise RouterError(f"weights of {what} do not fit this version: {differing}")


def _vector(what: str, got: Mapping[str, float], wanted: tuple[str, ...]) -> Floats:
    _check_names(what, got, wanted)
    return np.array([float(got[name]) for name in wanted])
