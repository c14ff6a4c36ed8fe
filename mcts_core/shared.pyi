from typing import final

from mcts_core.result import SearchResult
from mcts_core.search import Search

@final
class SharedSearch:
    """A search that several threads run at once, each in a call of ``work``, then ``finish``."""

    def __new__(cls, search: Search) -> "SharedSearch": ...
    def work(self, seed: int) -> None: ...
    def finish(self) -> SearchResult: ...
