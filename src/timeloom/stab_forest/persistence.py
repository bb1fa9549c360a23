"""A forest as one file."""

import os

import numpy as np

from timeloom import storage
from timeloom.kernels.stab_forest import ENTRY, NODE, Forest, in_use, mark_open
from timeloom.stab_forest.arrivals import Arrivals
from timeloom.stab_forest.index import EventIndex

KIND, VERSION = "stab-forest", 1


def save_forest(path: str | os.PathLike[str], index: EventIndex, arrivals: Arrivals, events: int) -> None:
    """Write the index, what has not settled yet, and where arrivals stand."""
    arrays: storage.Arrays = {name: part.view(np.int64) for name, part in in_use(index.forest).items()}
    arrays["ids"] = np.zeros(0, np.int32) if index.ids is None else index.ids[: len(index)]
    for name in ("starts", "ends", "ids"):
        arrays[f"waiting_{name}"] = np.array(getattr(arrivals, name), np.int64)
    meta = {
        "order": arrivals.order,
        "events": events,
        "named": index.ids is not None,
        "last_start": arrivals.last_start,
        "last_end": arrivals.last_end,
        "watermark": arrivals.watermark,
    }
    storage.save(path, KIND, VERSION, arrays, meta)


def load_forest(path: str | os.PathLike[str]) -> tuple[EventIndex, Arrivals, int]:
    """Read what `save_forest` wrote; the arrays are mapped, not copied."""
    arrays, meta = storage.load(path, KIND, VERSION)
    forest = Forest(
        counts=arrays["counts"],
        starts=arrays["starts"],
        ends=arrays["ends"],
        dkey=arrays["dkey"],
        guide=arrays["guide"],
        nodes=arrays["nodes"].view(NODE),
        lists=arrays["lists"].view(ENTRY),
        slot=np.empty(arrays["starts"].size, np.int32),
    )
    mark_open(forest)
    arrivals = Arrivals(meta["order"])
    arrivals.last_start, arrivals.last_end = meta["last_start"], meta["last_end"]
    arrivals.watermark = meta["watermark"]
    arrivals.wait(arrays["waiting_starts"], arrays["waiting_ends"], arrays["waiting_ids"])
    return EventIndex(forest, arrays["ids"] if meta["named"] else None), arrivals, meta["events"]
