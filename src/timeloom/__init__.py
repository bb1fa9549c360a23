"""Temporal relational algebra for Spark and Arrow tables.

Every public name is loaded when it is first used, so that importing the package costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timeloom.engines.admission import Quarantined as Quarantined
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
    from timeloom.operators.explain import explain as explain
    from timeloom.operators.join import join as join

__version__ = "0.1.0"

_HOME = {
    "DroppedRowsWarning": "errors",
    "Explanation": "model.explanation",
    "InvalidInputError": "errors",
    "Period": "model.period",
    "Quarantined": "engines.admission",
    "Relation": "model.relation",
    "StorageError": "errors",
    "TimeloomError": "errors",
    "UsageError": "errors",
    "allen": "model",
    "explain": "operators.explain",
    "iseql": "model",
    "join": "operators.join",
    "relation": "model.names",
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
