"""`stream_count`: how many rows of another stream each row of a stream is in a relation with, once that is final."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.options import checked
from timeloom.model.ticks import Span
from timeloom.operators.streams import run_streams


@checked
def stream_count(
    left: Any,
    right: Any,
    relation: RelationLike = "intersects",
    *,
    on: "str | Sequence[str] | None" = None,
    name: str = "count",
    aggregates: "Mapping[str, Any] | None" = None,
    delta: "Span | str | None" = None,
    epsilon: "Span | str | None" = None,
    watermark: str | None = "0 seconds",
    left_arrives: str = "events",
    right_arrives: str = "events",
    columns: "Sequence[str] | dict[str, str] | None" = None,
    event_columns: dict[str, str] | None = None,
) -> Any:
    """Count, for each left row of a stream, the right rows that it is in relation with; counts leave when final.

    Parameters
    ----------
    left, right
        Streaming DataFrames of endpoint events (columns ``id``, ``time``, and ``event``, which is start or end), or of
        whole rows (``id``, ``start``, ``end``). Or local tables of such events: streams that are over.
        `timeloom.streaming.StreamCount` takes local streams piece by piece.
    relation, on, name, aggregates, delta, epsilon
        As in `count_join`; every relation can be counted. Values are those of the start events.
    watermark
        How late events may be, for both streams; None if they have watermarks already. Local tables need none.
    left_arrives, right_arrives
        ``"events"``, or whole rows that are known at their ``"start"``.
    columns
        The left columns that results have beside keys and id, such as ``["gate"]``.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.

    Returns
    -------
    A streaming DataFrame for append mode (or a table of the left one's kind): the keys, ``left_id``, the left columns
    asked for, the count, the aggregates, and ``at``, the instant at which all that was certain. Events that were
    refused (late, an end without a start, …) appear with their id (``left_id`` or ``right_id``), their time in ``at``,
    and a ``reason``, which is null for results.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"id": [1, 1], "time": [0, 9], "event": ["start", "end"]})
    >>> calls = pa.table({"id": [7, 7, 8, 5], "time": [2, 4, 6, 7], "event": ["start", "end", "start", "end"]})
    >>> for row in tl.stream_count(shifts, calls, "contains").to_pylist():
    ...     print(row)
    {'left_id': 1, 'count': 1, 'at': 9, 'right_id': None, 'reason': None}
    {'left_id': None, 'count': None, 'at': 7, 'right_id': 5, 'reason': 'ends without having started'}
    """
    from timeloom.streaming.final.counts import StreamCount

    wanted = find_relation(relation, delta=delta, epsilon=epsilon)
    options: dict[str, Any] = {"on": on, "name": name, "aggregates": aggregates}
    options |= {"columns": columns, "event_columns": event_columns}
    make = partial(StreamCount, wanted, left=left_arrives, right=right_arrives, **options)
    return run_streams({"left": left, "right": right}, make, watermark)
