"""`stream_windows`: bitemporal windows over a stream of versions, each step once it is final."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from timeloom.model.options import checked
from timeloom.model.period import PeriodLike
from timeloom.model.slide import Meanings, Slide
from timeloom.operators.streams import run_streams


@checked
def stream_windows(
    df: Any,
    sys: Slide,
    app: Slide,
    *,
    ratio: tuple[int, int] = (1, 1),
    meaning: Meanings = "snapshot",
    select: "Mapping[str, Any] | None" = None,
    app_period: PeriodLike = ("app_start", "app_end"),
    watermark: str | None = "0 seconds",
    arrives: str = "events",
    event_columns: dict[str, str] | None = None,
) -> Any:
    """Slide windows over versions as they arrive; each step leaves when system time has passed its window.

    Parameters
    ----------
    df
        A streaming DataFrame of versions that begin and end to be believed (columns ``id``, ``time``, and ``event``,
        which is start or end; start events have the application period and the values). Or a local table of such
        events: a stream that is over. `BitemporalIndex.live` follows the transactions of a local table.
    sys, app, ratio, meaning, select
        As in `sliding_windows`; the query has no last step, and system time must move forward.
    app_period
        The columns of the application period.
    watermark
        How late events may be; None if the stream has a watermark already. Local tables need none.
    arrives
        ``"events"``, or whole rows that are known at their ``"start"``.
    event_columns
        Other names for the columns above, such as ``{"time": "sys_time"}``.

    Returns
    -------
    A streaming DataFrame for append mode (or a table of the input's kind): ``step``, the window as ``sys_first``,
    ``sys_last``, ``app_first`` and ``app_last``, what ``select`` asks for, and ``at``, when the step was final. Events
    that were refused appear with their ``id``, their time in ``at``, and a ``reason``, which is null for results.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> plans = pa.table({"id": [1, 2, 1], "time": [100, 101, 102], "event": ["start", "start", "end"],
    ...                   "app_start": [10, 11, None], "app_end": pa.array([None] * 3, pa.int64())})
    >>> found = tl.stream_windows(plans, tl.Slide(100, 0, 1), tl.Slide(12, 0, 0), ratio=(1, 0))
    >>> found.select(["step", "n", "at"]).to_pylist()
    [{'step': 0, 'n': 1, 'at': 100}, {'step': 1, 'n': 2, 'at': 101}, {'step': 2, 'n': 1, 'at': 102}]
    """
    from timeloom.streaming.final.windows import StreamWindows

    options: dict[str, Any] = {"ratio": ratio, "meaning": meaning, "select": select, "app_period": app_period}
    options |= {"arrives": arrives, "event_columns": event_columns}
    return run_streams({"input": df}, partial(StreamWindows, sys, app, **options), watermark)
