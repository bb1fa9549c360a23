"""What a request means, worked out once for calls that differ in rows only."""

from dataclasses import dataclass, field
from typing import Any

from timeloom.engines.joins.problem import Limits, limits_of
from timeloom.model.count_join import CountRequest
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.ticks import Axis


@dataclass
class Plan:
    """What a request means for tables of certain columns, worked out once for calls that differ in rows only."""

    request: JoinRequest | CountRequest
    boxes: dict[tuple[Axis, bool], list[tuple[Limits, Limits]]] = field(default_factory=dict)
    names: dict[int, list[str]] = field(default_factory=dict)
    layouts: dict[tuple[Any, ...], list[OutputColumn]] = field(default_factory=dict)

    def bounds(self, axis: Axis, flip: bool) -> list[tuple[Limits, Limits]]:
        """What each box of the relation says of starts and of ends, seen from the probe side."""
        if (axis, flip) not in self.boxes:
            found = self.request.relation.boxes(axis)
            self.boxes[(axis, flip)] = [
                (limits_of((box.start_start, box.start_end)), limits_of((box.end_start, box.end_end)))
                for box in (tuple(box.inverse() for box in found) if flip else found)
            ]
        return self.boxes[(axis, flip)]

    def names_of(self, columns: list[OutputColumn]) -> list[str]:
        """The names of a layout."""
        if id(columns) not in self.names:
            self.names[id(columns)] = [column.name for column in columns]
        return self.names[id(columns)]

    def layout(self, left: list[str], right: list[str]) -> list[OutputColumn]:
        """The columns of the result."""
        known = (*left, None, *right)
        if known not in self.layouts:
            request = self.request
            assert isinstance(request, JoinRequest)
            halved = request.how in ("semi", "anti")
            self.layouts[known] = joined_columns(
                left,
                [] if halved else right,
                request.keys,
                suffixes=request.suffixes,
                overlap=request.overlap,
                columns=request.columns,
            )
        return self.layouts[known]


_PLANS: dict[int, Plan] = {}


def plan_of(request: JoinRequest | CountRequest) -> Plan:
    """The plan of a request; a request that is asked again has one already."""
    plan = _PLANS.get(id(request))
    if plan is None or plan.request is not request:
        if len(_PLANS) > 255:
            _PLANS.clear()
        plan = _PLANS[id(request)] = Plan(request)
    return plan
