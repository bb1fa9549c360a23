"""How kernels are compiled: one decorator, cached on disk, free of the interpreter lock."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

from timeloom.kernels.machine_code import KernelCache, KernelPlace

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel with Numba.

    Kernels take and return NumPy arrays and numbers, release the interpreter lock (so that plain threads run
    them side by side), and are cached on disk, so that a fresh process loads instead of compiling.
    """
    kernel: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if hasattr(kernel, "enable_caching") and KernelPlace.from_function(function, function.__code__.co_filename):
        kernel._cache = KernelCache(function)  # type: ignore[no-untyped-call]
    return cast("Callable[P, T]", kernel)
