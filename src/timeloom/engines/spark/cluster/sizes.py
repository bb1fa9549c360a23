"""How large DataFrames are, as far as Spark knows without running anything, and how widely to spread them."""

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.session import cores, shuffle_partitions

PARTITION_BYTES = 32 << 20
"""About how much a task should receive."""

UNKNOWN = 1 << 60
"""Spark's guess for a table of which it knows nothing is larger than this."""

_STATISTICS = re.compile(r"Statistics\(sizeInBytes=([\d.,E+]+) (B|[KMGTPE]iB)")
_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}


def estimated_bytes(frame: DataFrame) -> int | None:
    """The optimizer's estimate of a DataFrame's size; None when it knows nothing. Runs no job."""
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(mode="cost")
    found = _STATISTICS.search(text.getvalue())
    if found is None:
        return None
    size = int(float(found.group(1).replace(",", "")) * (1 << _UNITS[found.group(2)]))
    return size if size < UNKNOWN else None


@dataclass(frozen=True)
class Spread:
    """Into how many partitions to shuffle, and why."""

    partitions: int
    cores: int
    why: str

    @classmethod
    def of(cls, spark: SparkSession, sizes: "list[int | None]") -> "Spread":
        """Choose the number of partitions for tables of these sizes."""
        most, at_once = shuffle_partitions(spark), cores(spark)
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            wanted, why = 16 * at_once, "the size of the inputs is unknown"
        else:
            total = sum(known)
            wanted, why = max(2 * at_once, total // PARTITION_BYTES), f"the inputs have about {total:,} bytes"
        partitions = max(1, min(most, wanted))
        return cls(partitions, min(partitions, at_once), f"{why}, {at_once} tasks run at once")
