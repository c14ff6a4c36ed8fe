"""What the name of a tool says that it does: its verb, wherever in the name it stands."""

from collections.abc import Sequence
from typing import NamedTuple

from router.catalog.acts import Act, act_of
from router.catalog.lexicon import Verb, lexicon

__all__ = ["NameReading", "read_name"]


class NameReading(NamedTuple):
    """What a name says.

    Attributes:
        acts: what the tool does; several for "create_or_update"; empty if the name tells nothing.
        is_clear: the verb cannot be a noun: "delete_order" is clear, "post_search" is not.
        begins_with_verb: whether the verb is the first word.
    """

    acts: tuple[Act, ...] = ()
    is_clear: bool = False
    begins_with_verb: bool = False


def read_name(named: tuple[str, ...]) -> NameReading:
    """Read a name that was cut into words.

    A verb that is nothing else ("delete") counts wherever it stands, so "cookie_delete" and
    "delete_cookie" are the same. One that may be a noun ("post", "list") counts only where there is
    no other: "merge_request_update" updates, "get_post" gets. More verbs count after "and" and
    "or", and right after a verb of reading ("read_write", "find_replace").
    """
    verbs = _verbs_of(named)
    clear = [i for i, verb in verbs.items() if not verb.noun_too]
    if not verbs:
        return NameReading()
    first = clear[0] if clear else next(iter(verbs))
    found = [first, *_joined(named, verbs, first)]
    begins_with_a_list = 0 in verbs and verbs[0].kind == "read" and first > 0
    return NameReading(
        tuple(_act(named, i, verbs[i]) for i in found),
        is_clear=bool(clear) and not (begins_with_a_list and first < len(named) - 1),
        begins_with_verb=first == 0,
    )


def _verbs_of(named: Sequence[str]) -> dict[int, Verb]:
    known = lexicon().verbs
    found = {i: known[word] for i, word in enumerate(named) if word in known}
    if not lexicon().particles.isdisjoint(named):  # "clean_up" is "cleanup"
        for i in range(len(named) - 1):
            joined = known.get(named[i] + named[i + 1])
            if joined is not None:
                found[i] = joined
    return found


def _joined(named: Sequence[str], verbs: dict[int, Verb], first: int) -> list[int]:
    """Further verbs of the name that are joined to the first one."""
    if len(verbs) == 1:
        return []
    after_conjunction = [i for i in verbs if i > first + 1 and named[i - 1] in ("and", "or")]
    after = first + 1
    if verbs[first].kind == "read" and after in verbs and not verbs[after].noun_too:
        return [after, *after_conjunction]
    return after_conjunction


def _act(named: tuple[str, ...], at: int, verb: Verb) -> Act:
    things = named[at + 1 :] or named[:at]
    return act_of(verb.kind, (named[at], *things), named)
