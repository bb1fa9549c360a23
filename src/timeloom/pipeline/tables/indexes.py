"""Indexes in files that stand where tables are read."""

from typing import Any

from timeloom.storage import kind_of


def load_index(path: str) -> Any:
    """Read an index of any kind: a forest, a bitemporal index, or a bitemporal table."""
    kind = kind_of(path)
    if kind == "bitemporal-index":
        from timeloom.bitemporal.index import BitemporalIndex

        return BitemporalIndex.load(path)
    if kind == "bitemporal-table":
        from timeloom.bitemporal.table import BitemporalTable

        return BitemporalTable.load(path)
    from timeloom.stab_forest.forest import StabForest

    return StabForest.load(path)
