"""Where compiled kernels are kept: under the text that they were compiled from, and only where nobody else can write.

Loading machine code is running it. So a place counts as ours only if it belongs to this user, nobody else may write
there, and nobody else may put another directory in its stead: the same holds for each directory above it, which may
belong to root as well, and may be open to others only with the sticky bit, as temporary directories are.
"""

import hashlib
import importlib.util
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime.nrt import rtsys

_CONFIG: Any = numba.config
_HERE = Path(__file__).parent
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_IMPORTS = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n;(]+)|import[ \t]+([^\n;]+))", re.M
)
_COMMENT = re.compile(r"#[^\n]*")


class KernelCache(FunctionCache):
    """The compiled forms of one kernel, on disk."""

    class _Files(CompileResultCacheImpl):
        pass

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code from disk, without all that Numba knows about compiling.

        Numba loads its rules for every type and function first, which takes as long as importing it. Code that is
        compiled already needs the runtime of its arrays and nothing more; the compiler loads those rules by itself.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


class KernelPlace(_CacheLocator):
    """A directory for each state of a kernel's module and of all that it imports, so that none can hold stale code.

    Numba by itself checks only the file that defines a function, but inlines kernels of other files.
    """

    def __init__(self, directory: Path, key: str, file: str, line: int) -> None:
        self._directory, self._key, self._py_file, self._line = directory, key, file, line

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelPlace | None":
        """The place of a kernel; None if no directory is ours."""
        key = source_key(py_func.__module__)
        root = cache_root()
        place = None if root is None else own_directory(root / key)
        return None if place is None else cls(place, key, py_file, py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        """The directory."""
        return str(self._directory)

    def get_source_stamp(self) -> str:
        """What the compiled form depends on."""
        return self._key

    def get_disambiguator(self) -> str:
        """What tells apart functions of one name."""
        return str(self._line)


KernelCache._Files._locator_classes = [KernelPlace]  # type: ignore[list-item]


@cache
def source_key(module: str) -> str:
    """A hash of a module's name, its text and the texts of all modules of its package that it builds upon."""
    texts, waiting = {}, [module]
    while waiting:
        name = waiting.pop()
        if name not in texts:
            texts[name], imported = _source(name)
            waiting += imported
    lines = (f"{name} {len(text)}\n{text}" for name, text in sorted(texts.items()))
    return hashlib.sha256("".join([module, "\n", *lines]).encode()).hexdigest()[:24]


@cache
def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, AttributeError, ValueError):
        return None


@cache
def _source(module: str) -> tuple[str, tuple[str, ...]]:
    """The text of a module, also of one inside an archive, and the modules of its own package that it imports."""
    spec = _spec(module)
    loader: Any = spec.loader if spec else None
    try:
        text = loader.get_source(module) or ""
    except (ImportError, AttributeError, OSError):
        return "", ()
    package = module if _is_package(module) else module.rpartition(".")[0]
    return text, tuple(sorted(set(_imported(text, package))))


def _is_package(module: str) -> bool:
    spec = _spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _imported(text: str, package: str) -> Iterator[str]:
    """The modules of the package's family that a text may import, also by what only looks like an import."""
    family = package.partition(".")[0]
    for source, names, modules in _IMPORTS.findall(text.replace("\\\n", " ")):
        parts = [part.split() for part in _COMMENT.sub("", names or modules).strip("()").split(",")]
        words = [part[0] for part in parts if part]
        if source:
            try:
                base = importlib.util.resolve_name(source, package)
            except ImportError:
                continue
            if base.partition(".")[0] == family:
                yield base
                yield from (f"{base}.{word}" for word in words if _is_package(base))
        else:
            yield from (word for word in words if word.partition(".")[0] == family)


@cache
def cache_root() -> Path | None:
    """The first place that is ours: the user's choice, or beside the package or at home; else a temporary one."""
    chosen = _CONFIG.CACHE_DIR
    homes = [Path(chosen)] if chosen else [_HERE / "__pycache__", Path.home() / ".cache"]
    name = f"timeloom-{os.getuid()}" if hasattr(os, "getuid") else "timeloom"
    places = [*(home / "timeloom" for home in homes), Path(tempfile.gettempdir()) / name]
    found = next((root for place in places if (root := own_directory(place)) is not None), None)
    if found is None or (chosen and found != Path(os.path.realpath(places[0]))):
        kept = "they are compiled anew in each process" if found is None else f"they are kept in {str(found)!r}"
        warnings.warn(
            f"compiled kernels cannot be kept in {str(places[0])!r}: it is not writable, or others may write there or "
            f"in a directory above it; {kept}. Set NUMBA_CACHE_DIR to a directory that only you can write",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def own_directory(path: Path) -> Path | None:
    """Make a directory, or take the one that is there; None if it, or the way to it, is not ours alone.

    The answer has no symbolic links left in it, so what was checked is what will be opened.
    """
    real = Path(os.path.realpath(path))
    try:
        for above in [*reversed(real.parents), real]:
            if not above.exists():
                above.mkdir(mode=0o700, exist_ok=True)
            if not _is_ours(os.lstat(above), last=above == real):
                return None
    except (OSError, ValueError):
        return None
    return real if os.access(real, os.W_OK | os.X_OK) else None


def _is_ours(found: os.stat_result, *, last: bool) -> bool:
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    if found.st_uid != os.geteuid() and (last or found.st_uid != 0):
        return False
    return not found.st_mode & _OTHERS or (not last and bool(found.st_mode & stat.S_ISVTX))
