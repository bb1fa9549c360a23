"""Calls on indexes that are made again and again: options that were understood once are not read anew.

Through an index a verb takes some microseconds, less than checking its options does. So a call whose options were seen
before goes straight to the engine with the request that they made then.
"""

from collections.abc import Callable, Mapping
from typing import Any

from timeloom.engines.tables.marks import is_index, is_spark

MOST = 256


class Understood:
    """The calls of one verb that were understood, by their options.

    ``varying`` names the leading parameters that differ from call to call: the tables, and instants.
    """

    def __init__(self, tables: int, varying: tuple[str, ...]) -> None:
        self._tables, self._varying = tables, varying
        self._calls: dict[Any, Callable[..., Any]] = {}

    def find(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> "tuple[Any, tuple[Any, ...]] | None":
        """What to look the options up by, and the varying arguments; None for calls without an index."""
        given, tables = len(args), args[: self._tables]
        if given < self._tables or not any(map(is_index, tables)) or any(map(is_spark, tables)):
            return None
        if not options and given == len(self._varying):
            return (given, (), (), ()), args
        varying = args[: len(self._varying)]
        rest = options
        if given < len(self._varying):
            if not all(name in options for name in self._varying[given:]):
                return None
            rest = {name: value for name, value in options.items() if name not in self._varying}
            varying = (*varying, *(options[name] for name in self._varying[given:]))
        fixed = (*args[len(self._varying) :], *rest.values())
        return (given, fixed, tuple(rest), tuple(map(type, fixed))), varying

    def recall(self, known: Any) -> Callable[..., Any] | None:
        """The call with these options; options that cannot be compared are always read anew."""
        try:
            return self._calls.get(known)
        except TypeError:
            return None

    def remember(self, known: Any, again: Callable[..., Any]) -> None:
        """Keep a call that was understood."""
        if len(self._calls) >= MOST:
            self._calls.clear()
        try:
            self._calls[known] = again
        except TypeError:
            return
