"""The package as a whole: what importing it costs, and that its front page tells the truth."""

import doctest
import os
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


def test_local_tables_need_no_pandas():
    """Every verb works where pandas is not installed; pyarrow asks for it in places where one does not expect it."""
    code = """
import sys
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, NoPandas())
import pyarrow as pa, strange_names, timeloom as tl
names = strange_names.numbered(range(5))
rows = strange_names.rows_named(names)
still = rows.append_column("open", pa.array([None, 8, 7, 9], pa.int16())).drop_columns([names[1]])
still = still.rename_columns({"open": names[1]}).select(names)
for name, verb in (strange_names.verbs(names) | strange_names.local_verbs(names)).items():
    verb(rows, rows)
    if name not in ("split", "buckets"):
        verb(still, rows)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_every_public_name_is_there():
    assert sorted(tl.__all__) == list(tl.__all__)
    assert all(getattr(tl, name) is not None for name in tl.__all__)
    assert set(verbs()) <= set(tl.__all__)
    assert set(tl.__all__) <= set(dir(tl))


def test_the_front_page_tells_the_truth():
    failures, examples = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert (failures, examples > 5) == (0, True)


def test_tables_given_to_a_streaming_verb_are_refused_without_pyspark():
    code = (
        "import sys; sys.modules['pyspark'] = None; import pyarrow as pa, timeloom as tl\n"
        "try: tl.stream_join(pa.table({'id': [1]}), pa.table({'id': [1]}), 'overlaps')\n"
        "except tl.UsageError as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "stream_join takes streaming DataFrames, and timeloom.streaming.StreamJoin tables of events" in told
