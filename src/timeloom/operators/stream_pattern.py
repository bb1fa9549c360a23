"""`stream_pattern`: rows of several streams whose periods are in given relations, each match once it is certain."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from timeloom.model.options import checked
from timeloom.model.pattern import Pattern
from timeloom.operators.streams import run_streams


@checked
def stream_pattern(
    streams: "Mapping[str, Any]",
    relations: "Sequence[Any]",
    *,
    on: "str | Sequence[str] | None" = None,
    watermark: str | None = "0 seconds",
    arrives: "str | Mapping[str, Any]" = "events",
    columns: "Sequence[str] | dict[str, str] | None" = None,
    event_columns: dict[str, str] | None = None,
) -> Any:
    """Find rows of two, three or more streams whose periods are in given relations; matches leave when certain.

    Parameters
    ----------
    streams
        The streams by the names that they have in the pattern: streaming DataFrames of endpoint events (columns ``id``,
        ``time``, and ``event``, which is start or end), or of whole rows (``id``, ``start``, ``end``). Or local tables
        of such events: streams that are over. `timeloom.streaming.StreamPattern` takes local streams piece by piece.
    relations, on
        As in `pattern`.
    watermark
        How late events may be, for all streams; None if they have watermarks already. Local tables need none.
    arrives
        ``"events"``, or whole rows that are known at their ``"start"``; or a mapping, by the names of streams.
    columns
        The columns that results have beside keys and ids, named by stream and column, such as ``["alarm_code"]``.
        Values are those of the start events.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.

    Returns
    -------
    A streaming DataFrame for append mode (or a table of the first one's kind): the keys, the id of each stream's row,
    such as ``alarm_id``, the columns asked for, and ``at``, the first instant at which all relations are certain,
    whatever comes. Events that were refused appear with their id, their time in ``at``, and a ``reason``, which is null
    for results.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> def rows(*given):
    ...     return pa.Table.from_pylist([dict(zip(("id", "start", "end"), row)) for row in given])
    >>> found = tl.stream_pattern(
    ...     {"service": rows((1, 0, 20)), "alarm": rows((7, 28, 50)), "stop": rows((3, 30, 45), (4, 48, 60))},
    ...     [("service", tl.iseql.before(delta=10), "alarm"), ("stop", "during", "alarm")],
    ...     arrives="start",
    ... )
    >>> found.drop_columns("reason").to_pylist()  # all ends are known at the starts
    [{'service_id': 1, 'alarm_id': 7, 'stop_id': 3, 'at': 30}]
    """
    from timeloom.streaming.final.patterns import StreamPattern

    names = list(Pattern.of(streams, relations).names)
    options: dict[str, Any] = {"on": on, "arrives": arrives, "columns": columns, "event_columns": event_columns}
    return run_streams(dict(streams), partial(StreamPattern, names, relations, **options), watermark)
