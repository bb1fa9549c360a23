"""Temporal relational algebra for Spark and Arrow tables.

Every public name is loaded when it is first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeloom.bitemporal.index import BitemporalIndex as BitemporalIndex
    from timeloom.bitemporal.table import BitemporalTable as BitemporalTable
    from timeloom.engines.tables.validity import Quarantined as Quarantined
    from timeloom.errors import DroppedRowsWarning as DroppedRowsWarning
    from timeloom.errors import InvalidInputError as InvalidInputError
    from timeloom.errors import StorageError as StorageError
    from timeloom.errors import TimeloomError as TimeloomError
    from timeloom.errors import UsageError as UsageError
    from timeloom.model import allen as allen
    from timeloom.model import iseql as iseql
    from timeloom.model.explanation import Explanation as Explanation
    from timeloom.model.names import relation as relation
    from timeloom.model.period import Period as Period
    from timeloom.model.relation import Relation as Relation
    from timeloom.model.slide import Slide as Slide
    from timeloom.operators.coalesce import coalesce as coalesce
    from timeloom.operators.count_join import count_join as count_join
    from timeloom.operators.depth import depth as depth
    from timeloom.operators.explain import explain as explain
    from timeloom.operators.gaps import gaps as gaps
    from timeloom.operators.install import install as install
    from timeloom.operators.join import join as join
    from timeloom.operators.sliding_windows import sliding_windows as sliding_windows
    from timeloom.operators.stab import stab as stab
    from timeloom.operators.stream_join import stream_join as stream_join
    from timeloom.operators.temporal_aggregate import temporal_aggregate as temporal_aggregate
    from timeloom.operators.temporal_antijoin import temporal_antijoin as temporal_antijoin
    from timeloom.operators.temporal_join import temporal_join as temporal_join
    from timeloom.operators.top_k import top_k as top_k
    from timeloom.query.sql import sql as sql
    from timeloom.stab_forest.forest import StabForest as StabForest

__version__ = "0.1.0"

_HOME = {
    "BitemporalIndex": "bitemporal.index",
    "BitemporalTable": "bitemporal.table",
    "DroppedRowsWarning": "errors",
    "Explanation": "model.explanation",
    "InvalidInputError": "errors",
    "Period": "model.period",
    "Quarantined": "engines.tables.validity",
    "Relation": "model.relation",
    "StabForest": "stab_forest.forest",
    "StorageError": "errors",
    "Slide": "model.slide",
    "TimeloomError": "errors",
    "UsageError": "errors",
    "allen": "model",
    "coalesce": "operators.coalesce",
    "count_join": "operators.count_join",
    "depth": "operators.depth",
    "explain": "operators.explain",
    "gaps": "operators.gaps",
    "install": "operators.install",
    "iseql": "model",
    "join": "operators.join",
    "relation": "model.names",
    "sql": "query.sql",
    "stab": "operators.stab",
    "stream_join": "operators.stream_join",
    "temporal_aggregate": "operators.temporal_aggregate",
    "temporal_antijoin": "operators.temporal_antijoin",
    "temporal_join": "operators.temporal_join",
    "sliding_windows": "operators.sliding_windows",
    "top_k": "operators.top_k",
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
