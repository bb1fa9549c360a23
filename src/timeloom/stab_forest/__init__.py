"""The stab-forest: a dynamic index of events for stabs, multi-stabs and skip-joins."""

from timeloom.stab_forest.forest import StabForest
from timeloom.stab_forest.handle import Handle

__all__ = ["Handle", "StabForest"]
