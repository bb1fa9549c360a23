"""Whether Spark reads an input once, though a plan asks for its rows more than once.

Rows that are asked for more than once are shuffled, and Spark makes equal shuffles once. That does not happen if the
session forbids it, or if a function draws its seed when a plan is analysed, which on Connect may be anew in each place.
An input that gives other rows then would lose some of them, or keep them twice: it is refused.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.workers import OURS
from timeloom.engines.tables.frames import is_of
from timeloom.errors import InvalidInputError

REUSE = "spark.sql.exchange.reuse"

_SEEDED = re.compile(r"\b(?:rand|randn|randstr|uniform|uuid|shuffle)\((?:[^()]|\([^()]*\))*\)")
_CHANGING = re.compile(r"\b(?:monotonically_increasing_id|spark_partition_id)\(\)")
_CHANGING_NODE = re.compile(r"(?:Sample|GlobalLimit)\b")
_PYTHON_NODE = re.compile(rf"(?:MapInArrow(?! {OURS})|MapInPandas|BatchEvalPython|ArrowEvalPython)\b")
"""Functions in Python; those of our own tasks give the same rows for the same input."""

_NODE = re.compile(r"^[\s:+-]*")


class Input(Protocol):
    """A table that a verb reads: what it is called, and its rows."""

    @property
    def side(self) -> str:
        """What messages call it."""

    @property
    def all_rows(self) -> DataFrame:
        """Its rows."""


def require_one_reading(inputs: Iterable[Input]) -> None:
    """Refuse inputs that a plan asks for more than once, if Spark would read them again, and they may change."""
    for side in inputs:
        found = _changing(side.all_rows)
        if found is not None:
            raise _refusal(side, *found)


def require_unchanging(side: Input, why: str) -> None:
    """Refuse an input that is read more than once anyway, if it is known to change; functions are taken to be pure."""
    found = changing(optimized(side.all_rows), python=False)
    if found is not None:
        raise _refusal(side, found, why)


def _refusal(side: Input, what: str, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"the {side.side} table may give other rows each time that it is read (its plan has {what}), and this call "
        f"would read it more than once, because {why}; persist() or checkpoint() it, or write it and read what was "
        "written"
    )


def _changing(frame: DataFrame) -> tuple[str, str] | None:
    """What speaks against reading a DataFrame again, and why it would be read again; None if nothing does."""
    if not reuses(frame.sparkSession):
        found = changing(optimized(frame))
        return None if found is None else (found, f"{REUSE} is off")
    if is_of(frame, "pyspark.sql.connect.dataframe", "DataFrame"):
        found = unequal_seed(optimized(frame.unionAll(frame)))
        return None if found is None else (found, "its seed is drawn anew for each place in a plan; give it a seed")
    return None


def reuses(spark: SparkSession) -> bool:
    """Whether Spark makes equal shuffles, and equal queries within a plan, once."""
    return str(spark.conf.get(REUSE, "true")).lower() == "true"


def optimized(frame: DataFrame) -> str:
    """The optimizer's plan, as text; an empty one, where nobody may look at it. Runs no job."""
    if in_pipeline():
        return ""
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(mode="extended")
    return text.getvalue().partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]


def changing(plan: str, *, python: bool = True) -> str | None:
    """Something in a plan that may give other values or rows when it is read again, or None."""
    nodes = list(uncached(plan))
    for number, node in enumerate(nodes):
        found = _SEEDED.search(node) or _CHANGING.search(node)
        if found:
            return found.group()
        beneath = next((line for line in nodes[number + 1 :] if not line.startswith(("LocalLimit", "Project"))), "")
        ordered = node.startswith("GlobalLimit") and beneath.startswith("Sort ")
        if (_CHANGING_NODE.match(node) and not ordered) or (python and _PYTHON_NODE.match(node)):
            return node.split(" ", 1)[0]
    return None


def unequal_seed(plan: str) -> str | None:
    """A function that stands in a plan, which has some input twice, with different seeds; or None."""
    calls = Counter(found for node in uncached(plan) for found in _SEEDED.findall(node))
    return next((call for call, count in calls.items() if count % 2), None)


def uncached(plan: str) -> Iterator[str]:
    """The nodes of a plan, without what lies beneath those that are cached."""
    cached: int | None = None
    for line in plan.splitlines():
        depth = len(_NODE.match(line).group())  # type: ignore[union-attr]
        if cached is not None and depth > cached:
            continue
        node = line[depth:]
        cached = depth if node.startswith("InMemoryRelation") else None
        if node:
            yield node
