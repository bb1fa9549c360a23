"""How kernels are compiled: one decorator, cached on disk, free of the interpreter lock."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel with Numba.

    Kernels take and return NumPy arrays and numbers, release the interpreter lock (so that plain threads run
    them side by side), and are cached on disk, so that a fresh process loads instead of compiling.
    """
    return cast("Callable[P, T]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a small function into each kernel that calls it.

    A call that passes arrays counts references to them, which costs more than a few lines of work in an inner loop.
    """
    return cast("Callable[P, T]", numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function))
