"""Whether two tables' periods can be compared."""

from timeloom.engines.tables.ticks import TimeType
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
