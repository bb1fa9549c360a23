"""Which strategy a join gets on Spark, and why."""

from dataclasses import dataclass

from pyspark.sql import SparkSession

from timeloom.errors import UsageError
from timeloom.model.join import JoinRequest

SMALL_SIDES = {
    "inner": ("right", "left"),
    "left": ("right",),
    "right": ("left",),
    "full": ("right", "left"),
    "semi": ("right",),
    "anti": ("right",),
}
"""The sides that may be broadcast; with ``full`` the large side is shuffled, so only on request."""


@dataclass(frozen=True)
class Strategy:
    """The name of a strategy, the side that is broadcast if any, and the reasons."""

    name: str
    small: str
    why: str


def choose_strategy(request: JoinRequest, sizes: "dict[str, int | None]", threshold: int) -> Strategy:
    """Choose by what was asked, by sizes known without running anything, and by keys."""
    if request.strategy == "keys" and not request.keys:
        raise UsageError("strategy='keys' needs equality keys; give on=, or choose strategy='slices'")
    allowed = SMALL_SIDES[request.how]
    known = {side: size for side in allowed if (size := sizes.get(side)) is not None}
    small = min(known, key=lambda side: known[side]) if known else allowed[0]
    if request.strategy == "broadcast":
        return Strategy("broadcast", small, f"it was asked for; the {small} side is sent to every task")
    if request.strategy != "auto":
        return Strategy(request.strategy, "", "it was asked for")
    if small in known and known[small] <= threshold and request.how != "full":
        why = f"the {small} side has about {known[small]:,} bytes, within spark.sql.autoBroadcastJoinThreshold"
        return Strategy("broadcast", small, why)
    if request.keys:
        return Strategy("keys", "", "there are equality keys, and no side is known to be small enough to broadcast")
    return Strategy("slices", "", "there are no equality keys, and no side is known to be small enough to broadcast")


def broadcast_threshold(spark: SparkSession) -> int:
    """Up to which size Spark would broadcast a table by itself; negative when never."""
    text = str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold", "10485760")).strip().lower()
    units = {"b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}
    digits = text.rstrip("bkmg")
    return int(digits) << units.get(text[len(digits) :], 0) if digits.lstrip("-").isdigit() else 10 << 20
