"""Verbs that run in one way only, whatever their tables are like: what they do, and why there is nothing to choose."""

from dataclasses import dataclass

from timeloom.model.sequenced import CheckRequest, LanesRequest, SplitRequest, TemporalSetRequest
from timeloom.model.stab import StabRequest

OneWayRequest = StabRequest | SplitRequest | LanesRequest | CheckRequest | TemporalSetRequest


@dataclass(frozen=True)
class OneWay:
    """What a verb does, in a word, and why that is all."""

    algorithm: str
    why: str


ONE_WAY = {
    "stab": OneWay("filter", "each row is tested by itself"),
    "split": OneWay("grid", "each row is cut by itself"),
    "lanes": OneWay("earliest start first", "a row needs the lanes of all rows of its group that begin before it"),
    "check": OneWay("sorted scan", "the rows of a group are compared with those next to them"),
    "temporal_union": OneWay("sweep of values", "rows of equal values of both tables are taken together"),
    "temporal_intersect": OneWay("sweep of values", "rows of equal values of both tables are taken together"),
    "temporal_except": OneWay("sweep of values", "rows of equal values of both tables are taken together"),
}
"""The verbs, by name."""


def columns_of(request: OneWayRequest) -> list[tuple[str, list[str]]]:
    """What each of the tables is called, and which columns it must have."""
    if isinstance(request, TemporalSetRequest):
        return [("left", list(request.left_period.columns)), ("right", list(request.right_period.columns))]
    by = request.by if isinstance(request, LanesRequest | CheckRequest) else ()
    return [("input", [*by, *request.period.columns])]
