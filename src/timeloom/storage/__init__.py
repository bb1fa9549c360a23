"""One file for one index or history: written whole or not at all, and nothing is believed that was not checked."""

from timeloom.storage.layout import Arrays, kind_of, load, restore, save
from timeloom.storage.structure import require, require_int, require_vector

__all__ = ["Arrays", "kind_of", "load", "require", "require_int", "require_vector", "restore", "save"]
