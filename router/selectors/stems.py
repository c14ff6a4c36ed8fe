"""Stems of words: a small suffix stripper, a stop list, and groups of words that mean alike."""

import re
from functools import lru_cache
from typing import Final

from router.words import words

__all__ = ["STOP", "concept", "stem", "stems", "verb_class"]

_STOP: Final = """
a an the this that these those it its i me my mine we us our you your he him his she her they
them their who whom which what whose where when why how is are was were be been being am do does
did doing done have has had having will would shall should can could may might must not no nor
and or but if then else so than too very just also only own same such both each few more most
other some any all of in on at by for with about against between into through during before
after above below to from up down out off over under again further once here there as until
while because s t d ll m re ve don please kindly want wants need needs like help hi hello hey
thanks thank let lets know tell give given using use used via per etc e g
"""

STOP: Final = frozenset(_STOP.split())
"""Words that say nothing about which tool fits."""

# Longest first; a suffix goes only if at least three letters stay.
_SUFFIXES: Final = (
    *("izations", "ization", "isation", "ications", "ication", "ations", "ation", "ements"),
    *("ement", "ments", "ment", "ances", "ance", "ences", "ence", "ities", "ators", "ator"),
    *("ating", "ated", "ates", "ate", "izing", "ized", "izes", "ize", "ising", "ised", "ise"),
    *("ions", "ion", "ings", "ing", "ives", "ive", "able", "ible", "ness", "ally", "ity"),
    *("ies", "ied", "ers", "ors", "er", "or", "ed", "es", "al", "ly", "s", "y", "e"),
)
_ENDING: Final = re.compile(f"(?:{'|'.join(_SUFFIXES)})$")
_DOUBLE: Final = re.compile(r"([bdfglmnprtz])\1$")


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of a lower case word; words that are not plain ASCII letters stay as they are.

    >>> stem("bookings"), stem("calculation"), stem("calculates"), stem("cancelled")
    ('book', 'calcul', 'calcul', 'cancel')
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    short = _strip(word)
    if short.endswith(("at", "iz")) and short != word and len(short) > 4:
        short = short[:-2]
    if len(short) > 3:
        short = _DOUBLE.sub(r"\1", short)
    return short[:-1] + "i" if short.endswith("y") else short


def _strip(word: str) -> str:
    match = _ENDING.search(word)
    if match is None or word.endswith("ss"):
        return word
    if match.start() >= 3:
        return word[: match.start()]
    for suffix in ("ing", "ed", "es", "er", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


@lru_cache(maxsize=8_192)
def stems(text: str) -> tuple[str, ...]:
    """Stems of the words of ``text`` that are not stop words, in order."""
    return tuple(stem(word) for word in words(text) if word not in STOP)


# Words that mean alike in names of tools and in requests: one group per line.
_GROUPS: Final = """
delete remove erase drop discard clear rm unlink purge
cancel abort revoke void undo
create make add new generate build establish compose draft mkdir touch initiate
update edit modify change alter adjust revise set patch amend replace rename
get retrieve fetch obtain show display view read see check look reveal present
list enumerate inventory ls catalogue browse available
find search locate seek discover lookup grep query hunt
send post submit dispatch forward transmit share publish deliver notify inform relay
buy purchase order acquire shop procure trade invest
book reserve reservation appointment schedule arrange
sell vend
pay payment transfer remit fund deposit
start begin launch ignite activate run execute open boot turn
stop halt end finish terminate kill close deactivate off shutdown
compute calculate determine evaluate solve estimate work figure
convert transform translate exchange turn change
compare diff contrast difference distinguish juxtapose versus
count wc tally number amount many quantity total
sort order arrange alphabetical rank
move mv relocate shift transfer
copy cp duplicate replicate backup clone
folder directory dir path
file document report txt pdf
content text contents line lines body
login log authenticate sign signin credentials authentication
logout signout
message msg email mail sms letter note text
tweet twitter post
user person people contact customer client member account
ticket issue support complaint case
weather forecast temperature climate rain sunny humidity
city location place town address area region
distance far apart mileage miles kilometers
price cost fare fee expense rate charge value
money currency dollar usd eur cash funds balance
stock share equity ticker symbol company
flight plane airline trip travel journey
hotel room accommodation stay lodging inn
restaurant food dinner meal eat cuisine dish
movie film cinema
song music track artist album playlist
car vehicle auto automobile
fuel gas tank gasoline petrol
tire tyre pressure wheel
door lock unlock
brake pedal parking
average mean
percent percentage ratio
zip zipcode postal postcode
insurance coverage policy protect
invoice receipt bill
budget limit spending
code program script source
test verify validate confirm check
website web page url site link internet
image picture photo visual drawing art logo
video youtube clip
job career employment hiring resume position
house home property apartment estate housing rent
learn study course education tutor teach lesson
game play puzzle
recipe cook ingredient
health medical doctor symptom disease
law legal lawyer court
book novel author reading literature
news headline article
paper research academic scholar science arxiv
event concert show ticket
time clock hour now current
date day calendar
size usage disk du space
first head top start beginning
last tail recent latest previous end
write echo put save store append record
cat print output read display
watchlist watch track follow monitor
reply respond answer comment
mention tag
navigate cd go goto enter directory change
summary summarize abstract overview
language translate english french spanish
status state condition
reset restore
device light lamp appliance thermostat
temperature heat cool climate ac
database sql table
repository repo git github
commit push merge pull
browser chrome tab
"""

_CLASSES: Final = """
read get read view show display check fetch retrieve see open cat describe print lookup tail head
read info
search search find grep list ls query browse enumerate locate lookup scan discover glob available
edit edit update modify change set replace patch write echo rename move mv append adjust sort fill
create create make add new generate mkdir touch register build insert cp copy
delete delete remove rm cancel drop clear erase unfollow close resolve revoke
send send post submit publish tweet retweet reply comment message notify mention contact share email
run run execute start launch press begin trigger deploy invoke bash shell command terminal
run restart scale rollback
test test verify validate confirm check lint typecheck pytest assert build compile ensure
auth login authenticate logout auth signin password token
compute calculate compute convert estimate mean count wc sum diff compare logarithm round
compute percentage add
buy buy purchase book order reserve place pay fund rent sell trade
go cd navigate goto go enter
stop stop halt lock kill terminate off
keep commit save push merge store persist upload backup
"""


def _by_stem(table: str, *, named: bool) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        head, *rest = line.split()
        for word in rest if named else (head, *rest):
            group = found.setdefault(stem(word), [])
            label = head if named else f"~{head}"
            if label not in group:
                group.append(label)
    return {key: tuple(labels) for key, labels in found.items()}


_CONCEPTS: Final = _by_stem(_GROUPS, named=False)
_VERBS: Final = _by_stem(_CLASSES, named=True)
VERB_CLASSES: Final = (*dict.fromkeys(line.split()[0] for line in _CLASSES.strip().splitlines()),)


def concept(stemmed: str) -> tuple[str, ...]:
    """Names of the groups of like words that a stem belongs to, each beginning with "~"."""
    return _CONCEPTS.get(stemmed, ())


def verb_class(stemmed: str) -> tuple[str, ...]:
    """General kinds of action that a verb's stem stands for, e.g. ("read",); may be empty."""
    return _VERBS.get(stemmed, ())
