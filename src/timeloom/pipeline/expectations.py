"""What a pipeline expects of a table of periods, and what becomes of one that has faults."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.tables.marks import is_spark
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.operators.check import check
from timeloom.operators.join import join
from timeloom.pipeline.definition.models import Expect

SHOWN = 3
BLAMED = ("overlap", "duplicate")
"""The faults that rows are to blame for; a gap has none."""


@dataclass(frozen=True)
class Met:
    """A table after its expectations: the rows that go on, those set aside (None for none), and how many faults."""

    frame: Any
    apart: Any
    faults: dict[str, int]
    note: str = ""


def meet(name: str, frame: Any, expect: Expect, period: Period, settle: Callable[[Any], tuple[Any, int]]) -> Met:
    """Check a table, and fail, set rows aside or only tell, as the file says."""
    faults, _ = settle(_faults(frame, expect, period))
    counts = _counts(faults)
    if not counts:
        return Met(frame, None, {})
    words = f"{name!r} does not meet its expectations: {_words(faults, counts)}"
    if expect.otherwise == "fail":
        raise InvalidInputError(f"{words}; mend them, or set otherwise to quarantine or warn")
    if expect.otherwise == "warn":
        return Met(frame, None, counts, words)
    options: dict[str, Any] = {"on": expect.by or None, "left_period": period, "right_period": ("start", "end")}
    blamed = _only(faults, BLAMED)
    kept, _ = settle(join(frame, blamed, how="anti", **options))
    left_over = _counts(_only(settle(_faults(kept, expect, period))[0], BLAMED))
    if left_over:
        raise InvalidInputError(f"{words}; rows with a null in {', '.join(expect.by)} cannot be set aside: mend them")
    return Met(kept, join(frame, blamed, how="semi", **options), counts, words)


def _faults(frame: Any, expect: Expect, period: Period) -> Any:
    return check(
        frame,
        by=expect.by,
        overlaps=expect.overlaps,
        gaps=expect.gaps,
        duplicates=expect.duplicates,
        within=expect.within,
        period=period,
    )


def _only(faults: Any, kinds: tuple[str, ...]) -> Any:
    """Faults of some kinds; their times are never empty."""
    if is_spark(faults):
        return faults.where(faults["fault"].isin(*kinds))
    return faults.filter(pc.is_in(faults["fault"], pa.array(kinds)))


def _counts(faults: Any) -> dict[str, int]:
    counted = faults.groupBy("fault").count().toArrow() if is_spark(faults) else faults
    if is_spark(faults):
        return dict(sorted(zip(counted["fault"].to_pylist(), counted["count"].to_pylist(), strict=True)))
    found = pc.value_counts(counted["fault"])
    return dict(sorted((entry["values"], entry["counts"]) for entry in found.to_pylist()))


def _words(faults: Any, counts: dict[str, int]) -> str:
    """How many faults of each kind, and the first of them."""
    first = faults.limit(SHOWN).toArrow() if is_spark(faults) else faults.slice(0, SHOWN)
    told = "; ".join(", ".join(f"{name}={value}" for name, value in row.items()) for row in first.to_pylist())
    return f"{', '.join(f'{count} × {fault}' for fault, count in counts.items())} ({told})"
