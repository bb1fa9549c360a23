"""One file for one index or history: written whole or not at all, and nothing is believed that was not checked."""

from timeloom.storage.layout import Arrays, load, restore, save
from timeloom.storage.structure import require, require_int, require_vector

__all__ = ["Arrays", "load", "require", "require_int", "require_vector", "restore", "save"]
