"""Which Python the workers of a local session run: that of the program, unless somebody chose another.

Spark takes ``python3`` by default, whatever runs the program. Where another one comes first in the path, each task
would die for want of Timeloom, under pages of Java.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from timeloom.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT = "python3"
CHOSEN = ("spark.sql.execution.pyspark.python", "spark.pyspark.python")
"""Settings by which a user names the workers' Python; the first also holds in a session that runs already."""

_OF_PYTHON = "LogicalRDD"
"""What plans call rows that were handed to Spark one by one."""

_NEEDED = ("timeloom", "numba", "numpy", "pyarrow")
_QUESTION = f"""
import importlib.util, sys
print(sys.version_info[:2] == {sys.version_info[:2]}, all(importlib.util.find_spec(name) for name in {_NEEDED}))
"""


def use_own_python(spark: "SparkSession", frames: "Iterable[DataFrame]" = ()) -> None:
    """Let workers on this machine run the program's Python; where that cannot be arranged, say what to set.

    It cannot for rows that were handed to Spark one by one before: Spark has noted which Python writes them.
    """
    context = _classic_context(spark)
    if os.environ.get("PYSPARK_PYTHON"):
        if context.master.startswith("local") if context is not None else "SPARK_LOCAL_REMOTE" in os.environ:
            require_named()
    elif context is not None:
        if context.pythonExec == DEFAULT and context.master.startswith("local") and not _chosen(spark):
            if not _starts(DEFAULT):
                _refuse_rows_of_python(frames)
            context.pythonExec = sys.executable
    elif "SPARK_LOCAL_REMOTE" in os.environ and not _chosen(spark):
        _require(os.environ.get("PYSPARK_DRIVER_PYTHON") or DEFAULT)


def require_named() -> None:
    """Refuse a ``PYSPARK_PYTHON`` for workers on this machine that is no Python, or another version than this one."""
    named = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if not _starts(named):
        raise UsageError(
            f"PYSPARK_PYTHON={named!r} names what Spark's workers are to run, and that is no Python, or another "
            f'version than this program; set PYSPARK_PYTHON="{sys.executable}", or nothing, before the program starts'
        )


def _classic_context(spark: "SparkSession") -> Any:
    """The object in which a classic session notes the workers' Python; on Connect there is none."""
    connect, found = (sys.modules.get(f"pyspark.{name}") for name in ("sql.connect.session", "core.context"))
    if found is None or (connect is not None and isinstance(spark, connect.SparkSession)):
        return None
    return found.SparkContext._active_spark_context


def _chosen(spark: "SparkSession") -> bool:
    return any(spark.conf.get(name, None) for name in CHOSEN)


@cache
def _starts(command: str) -> bool:
    """Whether a command is a Python of the version of this one."""
    path = shutil.which(command)
    if path is None or os.path.dirname(path) == os.path.dirname(sys.executable):
        return path is not None
    return _answer(path).startswith("True")


def _refuse_rows_of_python(frames: "Iterable[DataFrame]") -> None:
    """Refuse DataFrames whose rows a Python must write that is none, or another version."""
    from timeloom.engines.spark.cluster.readings import optimized

    if any(_OF_PYTHON in optimized(frame) for frame in frames):
        raise UsageError(
            f"a table was made from a list of rows, which Spark lets {DEFAULT!r} write, and that is "
            f"{shutil.which(DEFAULT)!r}: no Python, or another version than this program; set "
            f'PYSPARK_PYTHON="{sys.executable}" before the session starts, or make the table from Arrow: '
            "spark.createDataFrame(pyarrow.table({...}))"
        )


def _answer(path: str) -> str:
    try:
        return subprocess.run([path, "-c", _QUESTION], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


@cache
def _require(command: str) -> None:
    """Refuse to make plans for workers that cannot run them."""
    path = shutil.which(command)
    if path is not None and os.path.dirname(path) == os.path.dirname(sys.executable):
        return
    answer = ""
    if path is not None:
        answer = _answer(path)
    if answer != "True True":
        found = f"{command!r}, which is {path!r}" if path else f"{command!r}, which is not in the path"
        raise UsageError(
            f"workers of this session run {found}, and it has no Timeloom, or another version of Python than this "
            f'program; run spark.conf.set("{CHOSEN[0]}", "{sys.executable}"), or set PYSPARK_PYTHON="{sys.executable}" '
            "before the program starts"
        )
