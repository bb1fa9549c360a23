"""Result periods as columns: which type they have, and whether a tick fits into it.

The type is decided by the inputs' types and the call alone, never by the rows: a plan on Spark must know it, and the
same call must always answer in the same types.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.one_column import intervals, is_interval, ranges
from timeloom.engines.tables.ticks import PeriodTicks, Ticks, TimeType, shift_ticks
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis


@dataclass(frozen=True)
class PeriodWriter:
    """Writes ticks as a table's period columns do: in its convention, an open end as its first sentinel or as null."""

    type: TimeType
    period: Period
    column: pa.DataType | None = None

    @classmethod
    def of(
        cls, sides: Sequence[PeriodTicks], policy: Policy, bounds: Iterable[int] = (), *, wide: bool = True
    ) -> "PeriodWriter":
        """Write as the first side does, in one type for both columns that holds what all sides' columns hold.

        Seconds and milliseconds become microseconds if a result may fall between them: ends that are shifted by a tick,
        points that last one, and ``bounds`` of the user's that are no whole units. Where the first side has instants,
        results that may last longer are ``wide``: they get two columns. Others are instants of some side.
        """
        first = sides[0].period
        if first.is_instant and not wide:
            kind = reduce(common_type, (side.type for side in sides if side.period.is_instant))
            return cls(kind, first)
        kind = reduce(common_type, (part for side in sides for part in (side.type, side.end_type)))
        shifted = policy.empty == "point" or any(side.period.closed != "left" for side in sides)
        written = [*sides[0].sentinels[:1], *(bound for bound in bounds if bound != FOREVER)]
        if shifted or any(tick % kind.grain for tick in written):
            kind = kind.finest()
        return cls(kind, first.wide, sides[0].column)

    def columns(self, starts: Ticks, ends: Ticks) -> "dict[str, pa.Array]":
        """The period columns of a result, by their names."""
        if self.period.is_instant:
            return {self.period.start: self.starts(starts)}
        written = self.starts(starts), self.ends(ends)
        if self.column is None:
            return dict(zip(self.period.columns, written, strict=True))
        write = intervals if is_interval(self.column) else ranges
        return {self.period.start: write(*written, self.column)}

    def starts(self, ticks: Ticks, null: NDArray[np.bool_] | None = None) -> pa.Array:
        """Starts as a column; rows marked null become null."""
        if self.period.start_shift and ticks.size and ticks.min() == MIN_TICK:
            self._refuse_first_tick()
        return self.type.to_arrow(shift_ticks(ticks, -self.period.start_shift), null, self.period.start)

    def ends(self, ticks: Ticks, null: NDArray[np.bool_] | None = None) -> pa.Array:
        """Ends as a column; rows marked null become null."""
        is_open = ticks == FOREVER
        written = shift_ticks(ticks, -self.period.end_shift)
        if not is_open.any():
            return self.type.to_arrow(written, null, self.period.end)
        if self.period.sentinels:
            sentinel = self.type.ticks_of(self.period.sentinels[0], "open_end")
            return self.type.to_arrow(np.where(is_open, sentinel, written), null, self.period.end)
        return self.type.to_arrow(written, is_open if null is None else is_open | null, self.period.end)

    def _refuse_first_tick(self) -> None:
        raise InvalidInputError(
            f"column {self.period.start!r} of the result would have to begin before the first tick there is, as "
            f"closed={self.period.closed!r} leaves its start out; use closed='left', or cut off that instant"
        )


def common_type(one: TimeType, other: TimeType) -> TimeType:
    """The type of one axis that holds what both types hold; zoned times are written in the first one's zone.

    >>> common_type(TimeType(Axis.INTEGER, pa.uint8()), TimeType(Axis.INTEGER, pa.int8())).arrow
    DataType(int16)
    """
    if one.arrow == other.arrow:
        return one
    if one.axis is Axis.INTEGER:
        return TimeType(one.axis, _common_integer(one.arrow, other.arrow))
    if one.axis is Axis.DATE:
        return TimeType(one.axis, pa.date64())
    unit = one.arrow.unit if one.arrow.unit == other.arrow.unit else "us"
    return TimeType(one.axis, pa.timestamp(unit, one.arrow.tz))


def _common_integer(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The smallest that holds both; ticks are int64, so it holds those of uint64, too."""
    signed = [pa.types.is_signed_integer(kind) for kind in (one, other)]
    if signed[0] == signed[1]:
        return max(one, other, key=lambda kind: kind.bit_width)
    unsigned = one if signed[1] else other
    width = max(unsigned.bit_width * 2, (other if signed[1] else one).bit_width)
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}.get(width, pa.int64())
