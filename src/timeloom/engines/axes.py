"""Whether two tables' periods can be compared, and in which type shared periods are written."""

from dataclasses import replace

import pyarrow as pa

from timeloom.engines.ticks import PeriodTicks, TimeType
from timeloom.errors import InvalidInputError
from timeloom.model.ticks import Axis


def same_axis(left: TimeType, right: TimeType) -> Axis:
    """The axis of both tables' periods; different axes are an error that says how to mend it."""
    if left.axis is right.axis:
        return left.axis
    zones = {Axis.TIMESTAMP, Axis.ZONED}
    hint = "cast one side's period columns to the other's type"
    if {left.axis, right.axis} == zones:
        hint = "an instant with a zone and one without cannot be compared; give the unzoned side a zone first"
    raise InvalidInputError(
        f"the periods do not share a time axis: left is {left.arrow} ({left.axis.value}), "
        f"right is {right.arrow} ({right.axis.value}); {hint}"
    )


def shared_type(left: PeriodTicks, right: PeriodTicks) -> PeriodTicks:
    """The left side's way to write periods, in a type that can hold both sides' ticks."""
    types = {left.type.arrow, left.end_type.arrow, right.type.arrow, right.end_type.arrow}
    if len(types) == 1:
        return left
    wide = {
        Axis.INTEGER: pa.int64(),
        Axis.DATE: pa.date32(),
        Axis.TIMESTAMP: pa.timestamp("us"),
        Axis.ZONED: pa.timestamp("us", left.type.arrow.tz),
    }[left.type.axis]
    kind = TimeType(left.type.axis, wide)
    return replace(left, type=kind, end_type=kind)
