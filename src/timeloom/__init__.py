"""Temporal relational algebra for Spark and Arrow tables.

Every public name is loaded when it is first used, so that importing the package costs next to nothing.
Their types stand in ``__init__.pyi``.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "BitemporalIndex": "bitemporal.index",
    "BitemporalTable": "bitemporal.table",
    "DisjointPartitions": "partitions.disjoint",
    "DroppedRowsWarning": "errors",
    "Explanation": "model.explanation",
    "InvalidInputError": "errors",
    "KeyedForest": "stab_forest.keyed",
    "Period": "model.period",
    "Plot": "plots.drawing",
    "Quarantined": "engines.tables.validity",
    "Relation": "model.relation",
    "StabForest": "stab_forest.forest",
    "StorageError": "errors",
    "Slide": "model.slide",
    "TimeloomError": "errors",
    "UsageError": "errors",
    "allen": "model",
    "as_of": "operators.as_of",
    "check": "operators.check",
    "coalesce": "operators.coalesce",
    "count_join": "operators.count_join",
    "depth": "operators.depth",
    "explain": "operators.explain",
    "gaps": "operators.gaps",
    "install": "operators.install",
    "iseql": "model",
    "join": "operators.join",
    "lanes": "operators.lanes",
    "merge": "operators.merge",
    "nearest": "operators.nearest",
    "pattern": "operators.pattern",
    "plot": "plots.plot",
    "relation": "model.names",
    "sql": "query.sql",
    "split": "operators.split",
    "stab": "operators.stab",
    "stream_aggregate": "operators.stream_aggregate",
    "stream_coalesce": "operators.stream_coalesce",
    "stream_count": "operators.stream_count",
    "stream_join": "operators.stream_join",
    "stream_pattern": "operators.stream_pattern",
    "stream_windows": "operators.stream_windows",
    "temporal_aggregate": "operators.temporal_aggregate",
    "temporal_antijoin": "operators.temporal_antijoin",
    "temporal_except": "operators.temporal_except",
    "temporal_intersect": "operators.temporal_intersect",
    "temporal_join": "operators.temporal_join",
    "temporal_union": "operators.temporal_union",
    "sliding_windows": "operators.sliding_windows",
    "top_k": "operators.top_k",
    "with_schema": "operators.with_schema",
}
"""The module in which each public name lives."""

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'timeloom' has no attribute {name!r}")
    module = importlib.import_module(f"timeloom.{home}")
    value = importlib.import_module(f"timeloom.{home}.{name}") if home == "model" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
