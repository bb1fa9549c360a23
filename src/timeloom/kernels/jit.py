"""How kernels are compiled: one decorator, cached on disk, free of the interpreter lock."""

import hashlib
import os
import pkgutil
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")

_CONFIG: Any = numba.config
_HERE = Path(__file__).parent
_IMPORTS = re.compile(r"^from timeloom\.(?:kernels\.(\w+) import|kernels import ([\w, ]+)|model\.(\w+) import)", re.M)


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a kernel with Numba.

    Kernels take and return NumPy arrays and numbers, release the interpreter lock (so that plain threads run
    them side by side), and are cached on disk, so that a fresh process loads instead of compiling.
    """
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = str(_cache_directory(function.__module__.rpartition(".")[2]))
    try:
        return cast("Callable[P, T]", numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    finally:
        _CONFIG.CACHE_DIR = before


@cache
def _cache_directory(module: str) -> Path:
    """Where a module's machine code is kept: a place of its own for each state of its source.

    Numba checks only the file that defines a function, but inlines kernels of other files. A directory named after
    the text of the module and of all that it imports can hold no stale code.
    """
    text = "".join(sorted(_sources(module, set())))
    return _cache_root() / hashlib.sha256(text.encode()).hexdigest()[:16]


def _sources(module: str, seen: set[str]) -> set[str]:
    """The text of a kernel module and of the modules that it builds upon."""
    text = _text("timeloom.kernels", module)
    if module in seen or not text:
        return set()
    seen.add(module)
    found = {text}
    for kernel, several, model in _IMPORTS.findall(text):
        for name in [kernel, *several.replace(" ", "").split(",")]:
            found |= _sources(name, seen)
        if model:
            found.add(_text("timeloom.model", model))
    return found


def _text(package: str, module: str) -> str:
    """The source of a module, also of one inside an archive; empty if there is none."""
    try:
        return (pkgutil.get_data(package, f"{module}.py") or b"").decode()
    except OSError:
        return ""


@cache
def _cache_root() -> Path:
    """The first place that can be written: the user's choice, beside the package, at home, a temporary one."""
    chosen = _CONFIG.CACHE_DIR
    homes = [Path(chosen)] if chosen else [_HERE / "__pycache__", Path.home() / ".cache"]
    for home in homes:
        root = home / "timeloom"
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(root, os.W_OK):
            return root
    return Path(tempfile.gettempdir()) / f"timeloom-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
