"""`stream_coalesce`: the merged periods, or sessions, of a stream, each once it is over."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from timeloom.model.options import checked
from timeloom.model.ticks import Span
from timeloom.operators.streams import run_streams


@checked
def stream_coalesce(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    max_gap: "Span | str | None" = None,
    watermark: str | None = "0 seconds",
    arrives: str = "events",
    event_columns: dict[str, str] | None = None,
) -> Any:
    """Merge the periods of equal rows of a stream; each merged period leaves once no row can join it any more.

    Parameters
    ----------
    df
        A streaming DataFrame of endpoint events (columns ``id``, ``time``, and ``event``, which is start or end), or of
        whole rows (``id``, ``start``, ``end``). Or a local table of such events: a stream that is over.
        `timeloom.streaming.StreamCoalesce` takes local streams piece by piece.
    by
        The columns whose values must be equal, nulls being equal to each other; start and end events have them. Without
        any, all rows are merged.
    max_gap
        Also merge periods that are this far apart, at the most: ticks, a timedelta, or ``"30 minutes"``. What belongs
        together then is a session, which is over this long after its last end.
    watermark, arrives, event_columns
        As in `stream_aggregate`.

    Returns
    -------
    A streaming DataFrame for append mode (or a table of the input's kind): the columns of ``by``, ``start`` and
    ``end``, and ``at``, the instant at which the merged period was final. Events that were refused appear with their
    ``id``, their time in ``at``, and a ``reason``, which is null for results.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> clicks = pa.table({"user": ["a", "a", "a"], "id": [1, 2, 3], "start": [0, 8, 30], "end": [5, 12, 31]})
    >>> found = tl.stream_coalesce(clicks, by="user", max_gap=10, arrives="start")
    >>> [tuple(row.values())[:4] for row in found.to_pylist()]
    [('a', 0, 12, 22), ('a', 30, 31, 41)]
    """
    from timeloom.streaming.final.sessions import StreamCoalesce

    options: dict[str, Any] = {"by": by, "max_gap": max_gap, "arrives": arrives, "event_columns": event_columns}
    return run_streams({"input": df}, partial(StreamCoalesce, **options), watermark)
