"""The package as a whole: what importing it costs, and that its front page tells the truth."""

import doctest
import subprocess
import sys
from pathlib import Path

import timeloom as tl
from timeloom.operators.registry import verbs

ROOT = Path(__file__).parents[1]


def loaded_after(statement):
    code = f"{statement}; import sys; print(*sorted(name for name in sys.modules if '.' not in name))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_loads_no_engine():
    assert not loaded_after("import timeloom") & {"numba", "pyspark", "numpy", "pyarrow", "pandas"}


def test_a_verb_and_its_signature_load_no_engine():
    loaded = loaded_after("from timeloom.operators.registry import verbs; verbs()")
    assert not loaded & {"numba", "pyspark", "pyarrow", "pandas"}


def test_every_public_name_is_there():
    assert sorted(tl.__all__) == list(tl.__all__)
    assert all(getattr(tl, name) is not None for name in tl.__all__)
    assert set(verbs()) <= set(tl.__all__)
    assert set(tl.__all__) <= set(dir(tl))


def test_the_front_page_tells_the_truth():
    failures, examples = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert (failures, examples > 5) == (0, True)
