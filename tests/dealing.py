"""Parcels dealt out as a plan does it, without Spark."""

from bisect import bisect_right
from collections import defaultdict

import pyarrow as pa

_SCHEMA = pa.schema(
    [
        ("place", pa.int32()),
        ("slice", pa.int32()),
        ("low", pa.int64()),
        ("high", pa.int64()),
        ("is_right", pa.bool_()),
        ("parcel", pa.binary()),
    ]
)


def copies(parcel, bounds, places, hot=None):
    """Where a parcel goes, one row for each slice; ``hot`` are the homes that are cut, if not all."""
    cut = parcel["low"] is not None and (hot is None or parcel["home"] in hot)
    first, last = (bisect_right(bounds, parcel[end]) if cut else 0 for end in ("low", "high"))
    for number in range(first, last + 1):
        clips = bounds[number - 1] if number > first else None, bounds[number] if number < last else None
        yield (parcel["home"] + number) % places, number, *clips, parcel["is_right"], parcel["parcel"]


def deal(sides, bounds, places, hot=None):
    """What each task receives, by its number. ``sides`` are the batches of sealed parcels of left and of right rows."""
    received = defaultdict(list)
    for is_right, batches in enumerate(sides):
        for batch in batches:
            for parcel in batch.to_pylist():
                for row in copies(parcel | {"is_right": bool(is_right)}, bounds, places, hot):
                    received[row[0]].append(dict(zip(_SCHEMA.names, row, strict=True)))
    return {place: pa.RecordBatch.from_pylist(rows, _SCHEMA) for place, rows in sorted(received.items())}
