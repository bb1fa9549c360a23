"""How large DataFrames are, as far as Spark knows without running anything, and how widely to spread them."""

import io
import re
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.readings import changing, uncached
from timeloom.engines.spark.cluster.session import cores, shuffle_partitions

PARTITION_BYTES = 32 << 20
"""About how much a task should receive."""

UNKNOWN = 1 << 60
"""Spark's guess for a table of which it knows nothing is larger than this."""

_STATISTICS = re.compile(r"Statistics\(sizeInBytes=([\d.,E+]+) (B|[KMGTPE]iB)")
_READ = re.compile(r"(?:Project|Filter|Relation|LocalRelation|Range|Union|InMemoryRelation|SubqueryAlias)\b")
"""Nodes of a plan that reads rows and does no more than choose among them."""

_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}


class Estimate(NamedTuple):
    """How large a DataFrame is, as far as is known, and whether its rows are merely read, which costs little.

    It is ``steady`` if nothing in its plan is known to give other rows when it is read again.
    """

    size: int | None
    read: bool
    steady: bool = False


def estimate(frame: DataFrame) -> Estimate:
    """What the optimizer knows of a DataFrame; nothing, where it may not be asked. Runs no job."""
    if in_pipeline():
        return Estimate(None, read=False)
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(mode="cost")
    plan = text.getvalue().partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    read = all(_READ.match(node) for node in uncached(plan))
    steady = changing(plan) is None
    found = _STATISTICS.search(plan)
    if found is None:
        return Estimate(None, read, steady)
    size = int(float(found.group(1).replace(",", "")) * (1 << _UNITS[found.group(2)]))
    return Estimate(size if size < UNKNOWN else None, read, steady)


def all_within(estimates: Iterable[Estimate], limit: int) -> bool:
    """Whether tables are known to have no more bytes than this together, and are merely read."""
    found = list(estimates)
    return all(one.read and one.size is not None for one in found) and sum(one.size or 0 for one in found) <= limit


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
