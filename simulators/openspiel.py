"""OpenSpiel games as simulators: perfect information, any players, with or without chance.

The package is an extra: ``pip install 'harness-router[openspiel]'``. States are OpenSpiel's own
(``pyspiel.State``); a step works on a clone. Chance that follows an action is folded into the
outcomes of that action, so that a search only meets states in which a player moves.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from mcts_core.config import MAX_SEED, check_int
from mcts_core.errors import SimulatorError
from mcts_core.reference import SplitMix64
from mcts_core.simulator import ManyPlayerStep, Outcome, SimulatedStep
from simulators.awaiting import short

__all__ = ["OpenSpielChanceSimulator", "OpenSpielSimulator", "from_openspiel"]

Game = Any
"""A ``pyspiel.Game``; untyped here, since the package need not be installed."""
State = Any
"""A ``pyspiel.State``."""
Value = Callable[[State], float] | Callable[[State], Sequence[float]]
"""Estimates the return from a state on, for the player to move; with three or more for each."""

MOST_OUTCOMES: Final = 100_000


def from_openspiel(
    game: Game | str, *, value: Value | None = None
) -> "OpenSpielSimulator | OpenSpielChanceSimulator":
    """The simulator of a game, for ``PythonSimulator``; ``initial()`` is its root.

    Args:
        game: a game, or what ``pyspiel.load_game`` takes, such as "connect_four(rows=5)".
        value: estimate for a state where a search ends early, for the player to move (with three
            players or more a sequence, for each of them); None: 0.0.
            An ended game is always worth 0.0: its last step has paid.

    Raises:
        ImportError: OpenSpiel is not installed; names the extra.
        SimulatorError: there is no such game, or it has imperfect information, simultaneous
            moves, chance without stated probabilities, or two players whose interests are not
            opposed (other than zero-sum).
    """
    pyspiel = _pyspiel()
    loaded = _load(pyspiel, game) if isinstance(game, str) else game
    if not isinstance(loaded, pyspiel.Game):
        raise SimulatorError(f"game: got {short(loaded)}, wanted a pyspiel.Game or its name")
    _require_suitable(loaded)
    if _name(loaded.get_type().chance_mode) == "DETERMINISTIC":
        return OpenSpielSimulator(loaded, value)
    return OpenSpielChanceSimulator(loaded, value)


class _Game:
    """What games with and without chance have in common."""

    def __init__(self, game: Game, value: Value | None) -> None:
        self.game, self.value = game, value
        self.players: int = game.num_players()
        self._pays_at_end = _name(game.get_type().reward_model) == "TERMINAL"

    def initial(self, seed: int = 0) -> State:
        """The first state in which a player moves.

        Chance that comes before it is drawn with ``seed`` (0 to 2**64 - 1; ``ConfigError``
        otherwise): a search plans for that draw, as a player does who has seen it.
        """
        check_int("seed", seed, 0, MAX_SEED)
        state, rng = self.game.new_initial_state(), SplitMix64(seed)
        while state.is_chance_node():
            state.apply_action(_drawn(state.chance_outcomes(), rng.uniform()))
        return state

    def player(self, state: State) -> int:
        """Who moves, from 0 on; 0 at the end. ``SimulatorError`` where chance moves."""
        mover = int(state.current_player())
        if mover >= 0:
            return mover
        if state.is_chance_node():
            raise SimulatorError(
                f"state {short(state)}: chance moves there, wanted a player's move: "
                "begin at initial(), or apply one of its chance_outcomes() first"
            )
        return 0

    def actions(self, state: State) -> Sequence[int]:
        """OpenSpiel's numbers of the legal actions, rising; none at the end."""
        self.player(state)
        return tuple(state.legal_actions())

    def evaluate(self, state: State) -> Any:
        """``value`` of the state; 0.0 without one, or where the game has ended. With three players
        or more one number for each."""
        if self.value is None or state.is_terminal():
            return 0.0 if self.players < 3 else (0.0,) * self.players
        return self.value(state)

    def _step(self, mover: int, paid: Sequence[float], after: State) -> SimulatedStep[State]:
        """A step to ``after`` by ``mover``; before it the players had received ``paid``."""
        ended = bool(after.is_terminal())
        received = self._received(after)
        if self.players < 3:
            return SimulatedStep(after, received[mover] - paid[mover], ended)
        gained = tuple(now - before for now, before in zip(received, paid, strict=True))
        return ManyPlayerStep(after, gained, ended)

    def _received(self, state: State) -> Sequence[float]:
        """What each player has got so far; in a game that pays at its end nothing before."""
        if self._pays_at_end and not state.is_terminal():
            return (0.0,) * self.players
        return tuple(state.returns())


class OpenSpielSimulator(_Game):
    """A game without chance. Made by ``from_openspiel``."""

    def step(self, state: State, action: int) -> SimulatedStep[State]:
        """The move on a clone; the reward is what the mover (or each player) gains by it."""
        mover = self.player(state)
        return self._step(mover, self._received(state), state.child(action))


class OpenSpielChanceSimulator(_Game):
    """A game with chance of known probabilities. Made by ``from_openspiel``."""

    def outcomes(self, state: State, action: int) -> list[Outcome[State]]:
        """The move and all chance that follows it, up to the next move of a player.

        Raises:
            SimulatorError: more than 100,000 outcomes follow.
        """
        mover = self.player(state)
        paid = self._received(state)
        found: list[Outcome[State]] = []
        for probability, after in _after_chance(state.child(action), 1.0):
            if len(found) == MOST_OUTCOMES:
                raise SimulatorError(
                    f"action {action} in state {short(state)}: more than {MOST_OUTCOMES} outcomes"
                )
            found.append(Outcome(probability, self._step(mover, paid, after)))
        return found


def _after_chance(state: State, probability: float) -> Iterator[tuple[float, State]]:
    """Where chance leads from ``state``, with what probability; ``state`` if it has no move."""
    if not state.is_chance_node():
        yield probability, state
        return
    for action, p in state.chance_outcomes():
        if p > 0.0:
            yield from _after_chance(state.child(action), probability * p)


def _drawn(chances: Sequence[tuple[int, float]], u: float) -> int:
    """The action of chance that a number ``u`` from [0, 1) falls on."""
    cumulative = 0.0
    possible = [(action, p) for action, p in chances if p > 0.0]
    for action, p in possible:
        cumulative += p
        if u < cumulative:
            return action
    return possible[-1][0]


def _require_suitable(game: Game) -> None:
    """``SimulatorError`` that says which property of the game cannot be searched."""
    kind, players = game.get_type(), game.num_players()
    wanted = {
        "dynamics": ("SEQUENTIAL", "players who move in turn"),
        "information": ("PERFECT_INFORMATION", "perfect information"),
    }
    for what, (good, words) in wanted.items():
        if _name(getattr(kind, what)) != good:
            _refuse(game, f"{what} {_name(getattr(kind, what))}", words)
    if _name(kind.chance_mode) not in ("DETERMINISTIC", "EXPLICIT_STOCHASTIC"):
        _refuse(game, f"chance mode {_name(kind.chance_mode)}", "chance of known probabilities")
    if players == 2 and _name(kind.utility) != "ZERO_SUM":
        _refuse(game, f"utility {_name(kind.utility)}", "a zero-sum game for two players")


def _refuse(game: Game, got: str, wanted: str) -> None:
    raise SimulatorError(f"game {game}: got {got}, wanted {wanted}")


def _name(member: Any) -> str:
    """The name of a member of one of OpenSpiel's enumerations."""
    return str(member.name)


def _load(pyspiel: Any, name: str) -> Game:
    try:
        return pyspiel.load_game(name)
    except pyspiel.SpielError as error:
        message = str(error).partition(" Available games")[0]
        raise SimulatorError(f"game {name!r}: {message}") from error


def _pyspiel() -> Any:
    try:
        return import_module("pyspiel")
    except ImportError as error:
        raise ImportError(
            "open_spiel: not installed, wanted: pip install 'harness-router[openspiel]'"
        ) from error
