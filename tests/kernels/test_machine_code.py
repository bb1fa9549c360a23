"""Where compiled kernels are kept: under a key that follows every text they depend on, and never in another's reach."""

import ast
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import timeloom
from timeloom.kernels import machine_code

ROOT = Path(timeloom.__file__).parent

PACKAGE = {
    "__init__.py": "",
    "ticks.py": "LAST = 9\n",
    "kernels/__init__.py": "",
    "kernels/order.py": "from loomlet.ticks import LAST\n",
    "kernels/unrelated.py": "import loomlet.ticks\n",
    "kernels/joins/__init__.py": "",
    "kernels/joins/scan.py": "from .. import order as sorting\n",
    "kernels/joins/skip.py": "IMPORTS\n\n\ndef run(x):\n    return x\n",
}
FORMS = [
    "import loomlet.kernels.joins.scan",
    "import os, loomlet.kernels.joins.scan as scan",
    "from loomlet.kernels.joins import scan",
    "from loomlet.kernels.joins import (  # why\n    scan as other,\n)",
    "from loomlet.kernels.joins import \\\n    scan",
    "from . import scan",
    "from .scan import sorting",
    "from ..joins import scan",
    "if True: from .scan import sorting",
    "def late():\n    from loomlet.kernels.joins.scan import sorting",
]


def key_of(place, imports, changed=None):
    """The key of the kernel in a sub-package, with one of the texts changed."""
    for name, text in PACKAGE.items():
        file = place / "loomlet" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("IMPORTS", imports) + ("# changed\n" if name == changed else ""))
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.partition(".")[0] == "loomlet"]:
        del sys.modules[name]
    machine_code.source_key.cache_clear()
    machine_code._source.cache_clear()
    machine_code._spec.cache_clear()
    return machine_code.source_key("loomlet.kernels.joins.skip")


@pytest.mark.parametrize("imports", FORMS)
def test_the_key_follows_the_text_of_a_kernel_and_of_all_that_it_imports(tmp_path, monkeypatch, imports):
    monkeypatch.syspath_prepend(tmp_path)
    key = key_of(tmp_path, imports)
    assert key_of(tmp_path, imports) == key
    for used in ("ticks.py", "kernels/order.py", "kernels/joins/scan.py", "kernels/joins/skip.py"):
        assert key_of(tmp_path, imports, used) != key, used
    assert key_of(tmp_path, imports, "kernels/unrelated.py") == key


def test_modules_of_one_text_in_different_packages_have_different_keys(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    key_of(tmp_path, "")
    assert machine_code.source_key("loomlet.kernels") != machine_code.source_key("loomlet.kernels.joins")


def test_every_import_that_the_parser_sees_is_followed():
    for file in sorted((ROOT / "kernels").rglob("*.py")):
        module = ".".join(("timeloom", *file.relative_to(ROOT).with_suffix("").parts))
        _, followed = machine_code._source(module)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("timeloom"):
                assert node.module in followed, (module, node.module)
                for name in node.names:
                    child = f"{node.module}.{name.name}"
                    assert machine_code._spec(child) is None or child in followed, (module, child)


def test_a_directory_that_others_may_write_is_not_ours(tmp_path):
    assert machine_code.own_directory(tmp_path / "new" / "deep") == (tmp_path / "new" / "deep").resolve()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    for mode in (0o777, 0o775, 0o1777):
        (tmp_path / "new" / "deep").chmod(mode)
        assert machine_code.own_directory(tmp_path / "new" / "deep") is None, oct(mode)
    (tmp_path / "new" / "deep").chmod(0o700)
    (tmp_path / "new").chmod(0o777)
    assert machine_code.own_directory(tmp_path / "new" / "deep") is None, "another may rename it"
    (tmp_path / "new").chmod(0o1777)
    assert machine_code.own_directory(tmp_path / "new" / "deep"), "the sticky bit keeps others from that"


def test_links_are_followed_before_anything_is_checked(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "cache").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "open" / "cache")
    assert machine_code.own_directory(tmp_path / "link") is None
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "good").symlink_to(tmp_path / "private")
    assert machine_code.own_directory(tmp_path / "good") == (tmp_path / "private").resolve()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert machine_code.own_directory(tmp_path / "loop") is None
    (tmp_path / "file").write_text("")
    assert machine_code.own_directory(tmp_path / "file") is None


def test_a_directory_of_another_user_is_not_ours(tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(machine_code.os, "geteuid", lambda: owner + 1)  # type: ignore[attr-defined]
    assert machine_code.own_directory(tmp_path / "theirs") is None


KERNEL = """
import warnings
warnings.simplefilter("always")
from timeloom.kernels.jit import compiled
from timeloom.kernels.stab_forest.stab import count_own
import numpy as np
print(count_own(np.array([1, 5, 9]), 0, 3, 4), count_own._cache.cache_path, sum(count_own.stats.cache_hits.values()))
"""


def run(code, **environment):
    """Run a program that compiles, also if this one does not."""
    given = os.environ | {"NUMBA_DISABLE_JIT": "0"} | environment
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr


def test_without_a_place_of_its_own_a_kernel_is_compiled_and_that_is_said_once(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (count, path, hits), words = run(KERNEL, NUMBA_CACHE_DIR=str(shared), TMPDIR=str(shared))
    assert (count, path, hits) == ("2", "None", "0")
    assert words.count("RuntimeWarning") == 1
    assert "others may write there" in words
    assert "compiled anew in each process" in words
    assert list(shared.rglob("*.nb*")) == []


LOADED = """
import sys
import numpy as np
from timeloom.kernels.order import sort
sort(np.array([5, 3, 9]))
from timeloom.kernels.stab_forest.stab import count_own
count_own(np.array([1, 5, 9]), 0, 3, 4)
print("numba.np.arraymath" in sys.modules)
import numba
twice = numba.njit(lambda ends: 2 * count_own(ends, 0, 3, 4))
print(twice(np.array([1, 5, 9])))
"""


def test_kept_kernels_are_loaded_without_the_rules_for_compiling_which_are_there_when_needed(tmp_path):
    kept = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(LOADED, **kept)[0] == ["True", "4"]
    assert run(LOADED, **kept)[0] == ["False", "4"]


def test_kernels_in_an_archive_are_kept_and_loaded_again(tmp_path):
    archive, cache = tmp_path / "timeloom.zip", tmp_path / "cache"
    with zipfile.ZipFile(archive, "w") as file:
        for source in ROOT.rglob("*.py"):
            file.write(source, source.relative_to(ROOT.parent))
    environment = {"PYTHONPATH": str(archive), "NUMBA_CACHE_DIR": str(cache)}
    code = KERNEL + "import timeloom; print(timeloom.__file__)"
    (count, path, hits, where), words = run(code, **environment)
    assert (count, hits, words) == ("2", "0", "")
    assert path.startswith(str(cache))
    assert str(archive) in where
    assert run(code, **environment)[0] == [count, path, "1", where]
