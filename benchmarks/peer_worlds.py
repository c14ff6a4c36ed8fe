"""The benchmarks' worlds as the pure Python peers want them: immutable states with slots.

The names of the methods are the peers'. Nothing here imports more than the standard library.
"""

from collections.abc import Callable
from typing import Any, Final

__all__ = ["ROUTE_REWARDS", "STATES", "for_multimcts", "for_two_sides"]

BOARD: Final = sum(0b111111 << 7 * column for column in range(7))
FLOOR: Final = sum(1 << 7 * column for column in range(7))
TOOLS: Final = 8
STEPS: Final = 6
ROUTE_REWARDS: Final = [(i * 2654435761 % 2**32) / 2**32 for i in range(TOOLS**STEPS)]
"""Reward of each way through "route", 0 to 1, in no order that a search could use."""


def _line(stones: int) -> bool:
    for shift in (1, 7, 6, 8):
        pairs = stones & stones >> shift
        if pairs & pairs >> 2 * shift:
            return True
    return False


class Board:
    """Connect four: the stones of the player to move, and all. Bits as in floor.c."""

    __slots__ = ("ended", "mine", "moves", "side", "taken", "won")

    def __init__(self, mine: int = 0, taken: int = 0, side: int = 1, won: bool = False) -> None:
        self.mine, self.taken, self.side, self.won = mine, taken, side, won
        self.ended = won or taken == BOARD
        room = (taken + FLOOR) & BOARD
        self.moves = [] if self.ended else [c for c in range(7) if room >> 7 * c & 0x7F]

    def getPossibleActions(self) -> list[int]:  # noqa: N802
        return self.moves

    def takeAction(self, column: int) -> "Board":  # noqa: N802
        taken = self.taken
        stone = (taken + FLOOR) & BOARD & 0x7F << 7 * column
        return type(self)(taken ^ self.mine, taken | stone, -self.side, _line(self.mine | stone))

    def isTerminal(self) -> bool:  # noqa: N802
        return self.ended

    def getReward(self) -> float:  # noqa: N802
        """For the first player."""
        return -self.side if self.won else 0.0


class Route:
    """Eight tools, six steps; a state is the way so far, a number in base 8 after a leading 1."""

    __slots__ = ("way",)
    TOOLS: Final = tuple(range(TOOLS))
    side: Final = 1

    def __init__(self, way: int = 1) -> None:
        self.way = way

    def getPossibleActions(self) -> tuple[int, ...]:  # noqa: N802
        return self.TOOLS

    def takeAction(self, tool: int) -> "Route":  # noqa: N802
        return type(self)(self.way * TOOLS + tool)

    def isTerminal(self) -> bool:  # noqa: N802
        return self.way >= TOOLS**STEPS

    def getReward(self) -> float:  # noqa: N802
        return ROUTE_REWARDS[self.way - TOOLS**STEPS]


class Level:
    """The tree alone: nothing but how many levels are left."""

    __slots__ = ("actions", "left")
    side: Final = 1

    def __init__(self, actions: tuple[int, ...], left: int) -> None:
        self.actions, self.left = actions, left

    def getPossibleActions(self) -> tuple[int, ...]:  # noqa: N802
        return self.actions

    def takeAction(self, action: int) -> "Level":  # noqa: N802
        return type(self)(self.actions, self.left - 1)

    def isTerminal(self) -> bool:  # noqa: N802
        return self.left == 0

    def getReward(self) -> float:  # noqa: N802
        return 0.5


STATES: Final[dict[str, Callable[[int, int], Any]]] = {
    "connect_four": lambda branching, depth: Board(),
    "route": lambda branching, depth: Route(),
    "tree": lambda branching, depth: Level(tuple(range(branching)), depth),
}
"""world -> (branching, depth) -> the root state, as ``mcts`` 1.0.4 wants it."""


def _like(world: str, branching: int, depth: int, names: dict[str, Any], *bases: type) -> Any:
    """The root as an instance of a class of its own, with the methods under other names."""
    root = STATES[world](branching, depth)
    kind = type(root)
    own = {new: getattr(kind, old) if isinstance(old, str) else old for new, old in names.items()}
    adapted = type(kind.__name__, (kind, *bases), {"__slots__": (), **own})
    arguments = (root.actions, root.left) if isinstance(root, Level) else ()
    return adapted(*arguments)


def for_multimcts(base: type, world: str, branching: int, depth: int) -> Any:
    """The root as ``multimcts`` wants it; the tree alone ends a rollout with its first move."""

    def reward(state: Any) -> float:  # earned by the player who made the last move
        return float(state.won) if world == "connect_four" else state.getReward()

    names: dict[str, Any] = {
        "get_current_team": lambda state: state.side,
        "get_legal_moves": lambda state: list(state.getPossibleActions()),  # it is shuffled
        "make_move": "takeAction",
        "is_terminal": "isTerminal",
        "get_reward": reward,
        "suggest_move": None,  # else the base's is called, which returns nothing
    }
    if world == "tree":
        end = Level((), 0)
        names["suggest_move"] = lambda state: (0, names["end"])
        root = _like(world, branching, depth, names, base)
        names["end"] = type(root)(end.actions, end.left)
        return root
    return _like(world, branching, depth, names, base)


def for_two_sides(world: str, branching: int, depth: int) -> Any:
    """The root as ``monte-carlo-tree-search`` wants it; rewards are the first player's."""
    names = {
        "get_current_player": lambda state: state.side,
        "get_possible_actions": "getPossibleActions",
        "take_action": "takeAction",
        "is_terminal": "isTerminal",
        "get_reward": "getReward",
    }
    return _like(world, branching, depth, names)
