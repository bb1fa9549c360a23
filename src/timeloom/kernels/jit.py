"""How kernels are compiled: one decorator, cached on disk, free of the interpreter lock, and no compiler before it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import WRAPPER_ASSIGNMENTS, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_LOADING = Lock()

_AS_WRITTEN: ContextVar[bool] = ContextVar("as_written", default=False)
"""Whether kernels that are not ready run as Python."""

if TYPE_CHECKING:
    Deferred = partial[Any]
else:
    Deferred = partial


class Kernel(Deferred):
    """A function that gets its machine code when it is first called, or when one that calls it is compiled.

    So whoever imports kernels and calls none of them, as many tasks on Spark do, never loads the compiler, which takes
    longer than all the rest. What is called is a ``partial`` whose function is exchanged once: that costs a call less
    than a function in Python would.
    """

    def __new__(cls, function: Callable[..., Any], **options: Any) -> "Kernel":
        """A kernel that is not ready yet."""
        kernel = super().__new__(cls, _first_call)
        told: dict[str, Any] = {name: getattr(function, name) for name in WRAPPER_ASSIGNMENTS}
        told |= {"source": function, "options": options, "ready": None}
        kernel.__setstate__((partial(_first_call, kernel), (), {}, told))
        return kernel

    def loaded(self) -> Any:
        """What Numba makes of the function."""
        with _LOADING:
            if self.ready is None:
                made = _made(self.source, self.options)
                self.__setstate__((made, (), {}, self.__dict__ | {"ready": made}))
        return self.ready

    def __reduce__(self) -> str:
        """Kernels travel by name."""
        return str(self.source.__qualname__)

    @property
    def _numba_type_(self) -> Any:
        """What the compiler takes it for, in the code of another kernel."""
        return self.loaded()._numba_type_

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loaded(), name)


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel with Numba when it is first called.

    Kernels take and return NumPy arrays and numbers, release the interpreter lock (so that plain threads run
    them side by side), and are cached on disk, so that a fresh process loads instead of compiling.
    """
    return cast("Callable[P, T]", Kernel(function))


def written_out(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel that other kernels call for each row: its lines are written out there.

    A call that stays one counts the users of the arrays that it is given, and threads wait for each other at the count.
    """
    return cast("Callable[P, T]", Kernel(function, inline="always"))


def borrowing(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel that makes and returns no array: it borrows those of its caller, and counts no users of them.

    Other kernels count the users of each array that they are given or take out of a tuple, at every call. Where a call
    does little, that is most of its cost.
    """
    return cast("Callable[P, T]", Kernel(function, _nrt=False))


@contextmanager
def as_written() -> Iterator[None]:
    """Let kernels that are not ready run as Python, for whoever asks what a verb makes of no rows.

    That takes less than loading the compiler, by far.
    """
    token = _AS_WRITTEN.set(True)
    try:
        yield
    finally:
        _AS_WRITTEN.reset(token)


def _first_call(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    return (kernel.source if _AS_WRITTEN.get() else kernel.loaded())(*args, **kwargs)


def _made(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba

    from timeloom.kernels import notice
    from timeloom.kernels.machine_code import KernelCache, KernelPlace

    notice.listen()
    kernel: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(kernel, "enable_caching") and KernelPlace.from_function(function, function.__code__.co_filename):
        kernel._cache = KernelCache(function)  # type: ignore[no-untyped-call]
    return kernel
