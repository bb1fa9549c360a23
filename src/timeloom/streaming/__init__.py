"""Joins of endpoint streams: each pair leaves at the first instant at which it is certain."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeloom.streaming.counting import EndpointCount
    from timeloom.streaming.final.aggregates import StreamAggregate
    from timeloom.streaming.final.counts import StreamCount
    from timeloom.streaming.final.patterns import StreamPattern
    from timeloom.streaming.final.sessions import StreamCoalesce
    from timeloom.streaming.keyed import KeyedJoin
    from timeloom.streaming.live import LiveForest
    from timeloom.streaming.metrics import StreamMetrics, observed
    from timeloom.streaming.operator import EndpointJoin
    from timeloom.streaming.tables import StreamJoin

__all__ = [
    "EndpointCount",
    "EndpointJoin",
    "KeyedJoin",
    "LiveForest",
    "StreamAggregate",
    "StreamCoalesce",
    "StreamCount",
    "StreamJoin",
    "StreamMetrics",
    "StreamPattern",
    "observed",
]

_HOMES = {
    "EndpointCount": "counting",
    "EndpointJoin": "operator",
    "KeyedJoin": "keyed",
    "LiveForest": "live",
    "StreamAggregate": "final.aggregates",
    "StreamCoalesce": "final.sessions",
    "StreamCount": "final.counts",
    "StreamJoin": "tables",
    "StreamMetrics": "metrics",
    "StreamPattern": "final.patterns",
    "observed": "metrics",
}


def __getattr__(name: str) -> Any:
    """Load a class when it is first asked for; importing this package compiles nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
