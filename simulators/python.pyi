from typing import Any, final

from simulators.answers import Answers

@final
class PythonSimulator(Answers):
    def __init__(self, simulator: Any) -> None: ...
    async def resolve(self) -> None: ...
