"""`stream_aggregate`: aggregates over time of a stream, each period once it is final."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from timeloom.model.options import checked
from timeloom.model.ticks import Span
from timeloom.operators.streams import run_streams


@checked
def stream_aggregate(
    df: Any,
    aggregates: "Mapping[str, Any]",
    *,
    by: "str | Sequence[str] | None" = None,
    every: "Span | str | None" = None,
    origin: Any = None,
    zone: str | None = None,
    watermark: str | None = "0 seconds",
    arrives: str = "events",
    event_columns: dict[str, str] | None = None,
) -> Any:
    """Aggregate a stream over time; each period leaves as soon as nothing that may still come can change it.

    Parameters
    ----------
    df
        A streaming DataFrame of endpoint events (columns ``id``, ``time``, and ``event``, which is start or end), or of
        whole rows (``id``, ``start``, ``end``). Or a local table of such events: a stream that is over.
        `timeloom.streaming.StreamAggregate` takes local streams piece by piece.
    aggregates, by, every, origin, zone
        As in `temporal_aggregate`; with ``every``, rows that never end are refused at the end of the stream, where they
        would touch buckets for ever. Values are those of the start events; the columns of ``by`` are in start and end
        events, since rows are told apart by these and their ids.
    watermark
        How late events may be; None if the stream has a watermark already. Local tables need none.
    arrives
        ``"events"``, or whole rows that are known at their ``"start"``.
    event_columns
        Other names for the columns above, such as ``{"id": "flight"}``.

    Returns
    -------
    A streaming DataFrame for append mode (or a table of the input's kind): the columns of ``by``, ``start`` and
    ``end``, the aggregates, and ``at``, the instant at which they were final: the end of the period, or one tick before
    it where that end was known. Events that were refused appear with their ``id``, their time in ``at``, and a
    ``reason``, which is null for results.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> plants = pa.table({"id": [1, 2, 1, 2], "time": [0, 3, 5, 8], "event": ["start", "start", "end", "end"],
    ...                    "mw": [10, 4, None, None]})
    >>> found = tl.stream_aggregate(plants, {"n": "count", "total": ("mw", "sum")})
    >>> [tuple(row.values())[:5] for row in found.to_pylist()]
    [(0, 3, 1, 10, 3), (3, 5, 2, 14, 5), (5, 8, 1, 4, 8)]
    """
    from timeloom.streaming.final.aggregates import StreamAggregate

    options: dict[str, Any] = {"by": by, "every": every, "origin": origin, "zone": zone}
    options |= {"arrives": arrives, "event_columns": event_columns}
    return run_streams({"input": df}, partial(StreamAggregate, aggregates, **options), watermark)
