"""One thread at a time: kernels run without the interpreter's lock, so each object of a stream has its own."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
G = TypeVar("G", bound="Guarded")


class Guarded:
    """Has a lock. A method that is `guarded` sees the object as the one before it left it, and is seen so."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which belongs to one process."""
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def guarded(method: Callable[Concatenate[G, P], T]) -> Callable[Concatenate[G, P], T]:
    """Let a method have its object to itself."""

    @wraps(method)
    def alone(guard: G, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with guard._lock:
            return method(guard, *args, **kwargs)

    return alone
