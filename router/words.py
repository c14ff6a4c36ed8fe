"""Words of a name or a text: the one way in which the router cuts text up."""

import re
from functools import lru_cache
from typing import Final

__all__ = ["words"]

# In this order: ABCDef -> ABC Def, fooBar -> foo Bar; then runs of letters or of digits.
_CAMEL: Final = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


@lru_cache(maxsize=16_384)
def words(text: str) -> tuple[str, ...]:
    """The words of ``text``, lower case, in order.

    "readFile", "read_file" and "Read-File" all give ("read", "file"); digits are words of their
    own. Scripts that are written without blanks give pairs of neighbouring characters.
    """
    if text.isascii():
        return tuple(_WORD.findall(_CAMEL.sub(" ", text).lower()))
    found: list[str] = []
    for match in _WORD.finditer(_CAMEL.sub(" ", text)):
        word = match.group().lower()
        if _CJK.fullmatch(word):
            found += (word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word)
    return tuple(found)
