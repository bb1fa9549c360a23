"""The Spark session of a run, and Spark's errors in one line."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from timeloom.engines.resources.threads import cores
from timeloom.engines.spark.cluster.interpreter import require_named
from timeloom.errors import InvalidInputError, StorageError, TimeloomError, UsageError
from timeloom.operators.install import install
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Cluster

SUBMIT = "PYSPARK_SUBMIT_ARGS"
EVERYWHERE = {"spark.sql.session.timeZone": "UTC"}
CLASSIC = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
}
"""Settings of a session that a run starts itself; its own lines take the place of Spark's."""


def start_session(cluster: Cluster, name: str) -> SparkSession:
    """Start a session of the run's own."""
    if SparkSession.getActiveSession() is not None:
        raise UsageError("there is a Spark session in this process already; pass it as spark=, it will not be changed")
    settings = dict(EVERYWHERE)
    on_this_machine = (cluster.remote or cluster.master or "local").startswith("local")
    if on_this_machine:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        require_named()
    builder = SparkSession.builder.appName(f"timeloom {name}")
    if cluster.remote:
        builder = builder.remote(cluster.remote)
    else:
        master = cluster.master or "local[*]"
        builder = builder.master(master)
        settings |= CLASSIC
        if master.startswith("local"):
            settings |= _local_settings()
    given = {key: _setting(value) for key, value in cluster.conf.items()}
    for key, value in settings.items():
        if key not in given:
            builder = builder.config(key, value)
    with spark_errors("Spark cannot start"), hushed():
        spark = _start(builder, given, by_file=not cluster.remote)
    if not on_this_machine:
        with spark_errors("Timeloom cannot be sent to Spark's workers"):
            install(spark)
    return spark


def _start(builder: Any, given: dict[str, str], *, by_file: bool) -> SparkSession:
    """Start with the user's settings, which may be secret: a JVM reads them from a file, for all see its arguments."""
    private = {key: value for key, value in given.items() if by_file and key.startswith("spark.")}
    for key, value in given.items():
        if key not in private:
            builder = builder.config(key, value)
    with settings_file(private):
        spark: SparkSession = builder.getOrCreate()
    if all(spark.conf.get(key, None) == value.strip() for key, value in private.items()):
        return spark
    spark.stop()  # this process had a JVM already, which read no file; it has no arguments to be seen either
    for key, value in private.items():
        builder = builder.config(key, value)
    again: SparkSession = builder.getOrCreate()
    return again


@contextmanager
def settings_file(settings: dict[str, str]) -> Iterator[None]:
    """Let a JVM that starts within the block read settings from a file that only we may read, and that then goes."""
    if not settings:
        yield
        return
    with tempfile.NamedTemporaryFile("w", prefix="timeloom-", suffix=".conf", encoding="utf-8") as file:
        file.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items())
        file.flush()
        before = os.environ.get(SUBMIT)
        os.environ[SUBMIT] = f"--properties-file {file.name} --load-spark-defaults {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            if before is None:
                del os.environ[SUBMIT]
            else:
                os.environ[SUBMIT] = before


def _escaped(text: str) -> str:
    """A text as Java's property files have it."""
    return "".join(f"\\u{ord(letter):04x}" if letter in "\\\n\r\t\f =:#!" else letter for letter in text)


def _local_settings() -> dict[str, str]:
    """One machine: few partitions, room for the driver, which does all the work, and no use of the network."""
    return {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(max(4, 2 * cores())),
    }


@contextmanager
def hushed() -> Iterator[None]:
    """Keep what a starting JVM says off the screen, for its whole life; if it does not start, tell what it said."""
    with tempfile.TemporaryFile() as said:
        screen = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield
        except Exception as error:
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise StorageError(f"Spark cannot start: {one_line(error)} {''.join(last)}".rstrip()) from error
        finally:
            os.dup2(screen, 2)
            os.close(screen)


def _setting(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Turn Spark's errors into Timeloom's: one line that says what failed, and why."""
    try:
        yield
    except TimeloomError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        if "PATH_NOT_FOUND" in str(error):
            raise StorageError(f"{what}: the path does not exist: {cause(str(error))}") from error
        if type(error).__name__ in ("AnalysisException", "ParseException"):
            raise UsageError(f"{what}: {cause(str(error))}") from error
        if "No space left on device" in str(error):
            raise StorageError(f"{what}: No space left on device") from error
        raise InvalidInputError(f"{what}: {cause(str(error))}") from error


def cause(text: str) -> str:
    """Find the words that matter in what Spark says.

    >>> cause("It was thrown\\n  File x\\ntimeloom.errors.InvalidInputError: 1 of 2 rows\\n\\nJVM stacktrace:")
    '1 of 2 rows'
    >>> cause("[USER_RAISED_EXCEPTION] at least 1 row SQLSTATE: P0001\\n\\nJVM stacktrace:")
    'at least 1 row'
    >>> cause("Job aborted.\\nCaused by: java.io.IOException: disk on fire")
    'Job aborted. (disk on fire)'
    """
    said = text.split("JVM stacktrace:", maxsplit=1)[0]
    by_sql = r"\[USER_RAISED_EXCEPTION\] (.+?)(?: SQLSTATE: \w+)?$"
    for raised in (r"^timeloom\.errors\.\w+: (.+)$", by_sql, r"^((?:\w+\.)*\w+Error: .+)$"):
        found = re.findall(raised, said, re.M)
        if found:
            return one_line(found[-1])
    lines = [line for line in said.splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(("An error occurred", "\tat "))), "")
    inner = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
    return one_line(first if not inner or inner[-1] in first else f"{first} ({inner[-1]})")
