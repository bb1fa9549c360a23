"""Which strategy a join gets on Spark, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from timeloom.errors import UsageError

FEW_BYTES = 1 << 20
"""A side with no more than this has few rows; what every task reports of them is added up."""

FAR_MORE = 32
"""A side with so many times the bytes of the other has far more rows."""


@dataclass(frozen=True)
class Strategy:
    """The name of a strategy, the side that is broadcast if any, and the reasons."""

    name: str
    small: str
    why: str


def choose_strategy(
    asked: str,
    *,
    keyed: bool,
    decided: Sequence[str],
    sizes: "dict[str, int | None]",
    threshold: int,
    adds_up: bool = False,
) -> Strategy:
    """Choose by what was asked, by sizes known without running anything, and by keys.

    The rows of a side that is broadcast are in every task, so it should not be one of those whose rows are decided. If
    both are, the large side is shuffled to be read once, so a broadcast is made on request only. If what tasks find for
    left rows ``adds_up``, few of them may be sent to all tasks that read the right side.
    """
    if asked == "keys" and not keyed:
        raise UsageError("strategy='keys' needs equality keys; give on=, or choose strategy='slices'")
    free = [side for side in ("right", "left") if side not in decided]
    known = {side: size for side in free or ("right", "left") if (size := sizes.get(side)) is not None}
    small = min(known, key=lambda side: known[side]) if known else (free or ["right"])[0]
    if asked == "broadcast":
        return Strategy("broadcast", small, f"it was asked for; the {small} side is sent to every task")
    if asked != "auto":
        return Strategy(asked, "", "it was asked for")
    if small in known and known[small] <= threshold and free:
        why = f"the {small} side has about {known[small]:,} bytes, within spark.sql.autoBroadcastJoinThreshold"
        return Strategy("broadcast", small, why)
    if adds_up and _few(sizes, threshold):
        why = f"the left side has about {sizes['left']:,} bytes, and the right side far more: it is not shuffled"
        return Strategy("broadcast", "left", why)
    if keyed:
        return Strategy("keys", "", "there are equality keys, and no side is known to be small enough to broadcast")
    return Strategy("slices", "", "there are no equality keys, and no side is known to be small enough to broadcast")


def _few(sizes: "dict[str, int | None]", threshold: int) -> bool:
    """Whether the left side is known to be small, and the right side is not, or has far more."""
    few, many = sizes.get("left"), sizes.get("right")
    return few is not None and few <= min(threshold, FEW_BYTES) and (many is None or many >= FAR_MORE * few)


def broadcast_threshold(spark: SparkSession) -> int:
    """Up to which size Spark would broadcast a table by itself; negative when never."""
    text = str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold", "10485760")).strip().lower()
    units = {"b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}
    digits = text.rstrip("bkmg")
    return int(digits) << units.get(text[len(digits) :], 0) if digits.lstrip("-").isdigit() else 10 << 20
