"""`plot`: a picture of a table with periods."""

from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.marks import is_spark
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.model.options import checked
from timeloom.model.period import Period, PeriodLike
from timeloom.operators.depth import depth
from timeloom.plots import specs
from timeloom.plots.drawing import Plot
from timeloom.plots.pairs import pairs
from timeloom.plots.reduction import MOST, Times, bin_edges, bucketed, grouped_lanes, read_times, shown

Kind = Literal["auto", "lanes", "pairs", "steps", "histogram", "rectangles"]

USED_BY = {
    "value": ("steps", "histogram"),
    "color": ("lanes", "rectangles"),
    "by": ("lanes",),
    "window": ("rectangles",),
}
"""The kinds of picture that each option is for."""


@checked
def plot(
    df: Any,
    kind: Kind = "auto",
    *,
    value: str | None = None,
    color: str | None = None,
    by: str | None = None,
    period: PeriodLike = ("start", "end"),
    right_period: PeriodLike = ("start_right", "end_right"),
    sys_period: PeriodLike = ("sys_start", "sys_end"),
    app_period: PeriodLike = ("app_start", "app_end"),
    window: "tuple[tuple[Any, Any], tuple[Any, Any]] | None" = None,
    title: str | None = None,
    width: int = 720,
    height: int | None = None,
) -> Plot:
    """Draw a table: periods as lanes, a value over time as steps, a value as a histogram, or versions as rectangles.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. Of a large DataFrame only bounded aggregates
        are fetched.
    kind
        ``"lanes"``: a bar for each row, in as few lanes as possible; more than 500 rows become a density, the number of
        active rows. ``"pairs"``: what a join returns, the rows of both sides as bars, each pair joined by a line.
        ``"steps"``: a value over time. ``"histogram"``: how many rows have a value. ``"rectangles"``:
        rows with two times. ``"auto"``: rectangles if the table has system and application time, steps with ``value``,
        or if the only other column has numbers and no two periods overlap; a histogram with ``value`` if there is no
        period, pairs if there is a right period, else lanes.
    value
        The numeric column of steps and histograms.
    color
        A column that colours lanes and rectangles.
    by
        A column that groups lanes: each of its values has lanes of its own, with its name beside them.
    period, right_period, sys_period, app_period
        The period columns; the second one of pairs, the latter two for rectangles.
    window
        ``((sys_start, sys_end), (app_start, app_end))``, drawn over rectangles.
    title, width, height
        What stands above, and the size in pixels.

    Returns
    -------
    A `Plot`, which shows itself in notebooks and has ``save("x.html" | "x.svg" | "x.png")``. Where many rows fall on
    one pixel, the band between the least and the greatest value is drawn: no peak disappears.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> tl.plot(pa.table({"who": ["Ann", "Bob"], "start": [8, 10], "end": [12, 16]}), color="who")
    Plot(lanes: periods; 2 rows in 2 lanes)
    """
    if kind not in get_args(Kind):
        raise UsageError(f"kind={kind!r} is unknown. {did_you_mean(kind, get_args(Kind))}")
    names = list(df.columns if is_spark(df) else to_arrow(df, "input")[0].column_names)
    both = Period.of(sys_period), Period.of(app_period)
    own, right = Period.of(period), Period.of(right_period)
    chosen = kind if kind != "auto" else _fitting(names, value, color or by, own, right, both)
    if chosen in ("steps", "histogram") and value is None:
        raise UsageError(f"kind={chosen!r} needs value=, the numeric column to draw")
    if kind == "auto" and chosen == "lanes" and color is None and by is None:
        value = _timeline(df, own)
        chosen = "lanes" if value is None else "steps"
    _refuse_unused(chosen, {"value": value, "color": color, "by": by, "window": window})
    require_columns(names, [column for column in (value, color, by) if column is not None], "input")
    size = (title, width, height)
    if chosen == "histogram":
        return _histogram(df, str(value), size)
    if chosen == "rectangles":
        return _rectangles(df, both, color, window, size)
    if chosen == "steps":
        return _steps(df, str(value), own, size)
    if chosen == "pairs":
        table = _few(df)
        return _dense(df, own, size) if table is None else pairs(table, own, right, size)
    return _lanes(df, (color, by), own, size)


def _refuse_unused(kind: str, given: dict[str, Any]) -> None:
    """No option is ignored: one that the picture has no use for is refused."""
    for name, value in given.items():
        if value is not None and kind not in USED_BY[name]:
            raise UsageError(f"{name}= is for {' and '.join(USED_BY[name])}, and this picture is of kind {kind!r}")


def _fitting(
    names: list[str],
    value: str | None,
    told_apart: str | None,
    period: Period,
    right: Period,
    both: tuple[Period, Period],
) -> str:
    def has(*periods: Period) -> bool:
        return all(name in names for one in periods for name in one.columns)

    if value is not None:
        return "steps" if has(period) else "histogram"
    if has(*both):
        return "rectangles"
    return "pairs" if has(period, right) and told_apart is None else "lanes"


def _timeline(df: Any, period: Period) -> str | None:
    """The column of numbers if a table is a value over time: it has no other column, and no two periods overlap."""
    table = _few(df) if is_spark(df) else to_arrow(df, "input")[0]
    others = [] if table is None else [field for field in table.schema if field.name not in period.columns]
    if len(others) != 1 or not _is_number(others[0].type) or len(period.columns) < 2:
        return None
    times = read_times(table, period)
    order = np.argsort(times.starts, kind="stable")
    apart = times.ends[order][:-1] <= times.starts[order][1:]
    return others[0].name if len(order) > 1 and apart.all() else None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _frame(size: tuple[str | None, int, int | None], title: str, subtitle: str) -> specs.Frame:
    return specs.Frame(size[0] or title, subtitle, size[1], size[2])


def _few(df: Any) -> pa.Table | None:
    """The whole table if it can be drawn row by row; a DataFrame is asked for no more rows than that."""
    table = df.limit(MOST + 1).toArrow() if is_spark(df) else to_arrow(df, "input")[0]
    return table if table.num_rows <= MOST else None


def _lanes(df: Any, columns: tuple[str | None, str | None], period: Period, size: Any) -> Plot:
    table = _few(df)
    if table is None:
        apart = " and ".join(repr(name) for name in columns if name is not None)
        return _dense(df, period, size, f"; not told apart by {apart}" if apart else "")
    color, by = columns
    times = read_times(table, period)
    lanes, names = grouped_lanes(times, None if by is None else _values(times.table, by))
    rows = [
        {"start": start, "end": end, "lane": lane, **texts}
        for start, end, lane, texts in zip(*_visible(times, size[1]), lanes, _texts(times.table), strict=True)
    ]
    _coloured(rows, times.table, color)
    told = f"{len(rows):,} rows in {max(lanes, default=-1) + 1:,} lanes"
    spec = specs.lanes(_frame(size, "periods", told), rows, times.axis, (period.start, period.end), color, names)
    return Plot(spec, "lanes")


def _dense(df: Any, period: Period, size: Any, more: str = "") -> Plot:
    """How many rows are active, where they are too many to be drawn one by one."""
    return _band(depth(df, period=period, name="active"), "active", period, size, "density", more)


def _coloured(rows: list[dict[str, Any]], table: pa.Table, color: str | None) -> None:
    if color is not None:
        for row, one in zip(rows, _values(table, color), strict=True):
            row["color"] = one


def _values(table: pa.Table, column: str) -> list[Any]:
    """Values as a picture can have them."""
    found = table[column].to_pylist()
    return [one if isinstance(one, int | float | str | None) else str(one) for one in found]


def _visible(times: Times, width: int) -> tuple[list[float], list[float]]:
    """Starts and ends; what is narrower than two pixels, such as an instant, is drawn with these."""
    starts, ends = _spans(times)
    least = 2 * (max(ends, default=0) - min(starts, default=0)) / width
    return starts, [max(end, start + least) for start, end in zip(starts, ends, strict=True)]


def _texts(table: pa.Table) -> list[dict[str, str]]:
    """What tooltips say of each row; names of ours are kept apart by a blank."""
    return [
        {f"{name} ".replace(".", "·"): "" if value is None else str(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]


def _spans(times: Times) -> tuple[list[float], list[float]]:
    return shown(times.starts, times.axis), shown(times.ends, times.axis)


def _steps(df: Any, value: str, period: Period, size: Any) -> Plot:
    table = _few(df)
    if table is None:
        return _band(df, value, period, size, "band")
    times = read_times(table, period)
    numbers = _numbers(times.table, value)
    rows = [
        {"start": start, "end": end, "value": number}
        for start, end, number in zip(*_spans(times), numbers.tolist(), strict=True)
        if np.isfinite(number)
    ]
    most = f", at most {max(row['value'] for row in rows):,g}" if rows else ""
    frame = _frame(size, f"{value} over time", f"{len(rows):,} steps{most}")
    return Plot(specs.steps(frame, rows, times.axis, (period.start, period.end), value), "steps")


def _band(df: Any, value: str, period: Period, size: Any, kind: str, more: str = "") -> Plot:
    """A value over time, by its least and greatest in each bucket."""
    if is_spark(df):
        from timeloom.plots.spark import spark_buckets

        found, axis, rows = spark_buckets(df, value, period)
    else:
        times = read_times(to_arrow(df, "input")[0], period)
        numbers = _numbers(times.table, value)
        known = np.isfinite(numbers)
        found, axis, rows = bucketed(times.starts[known], times.ends[known], numbers[known]), times.axis, len(numbers)
    drawn = [
        {"start": start, "end": end, "least": least, "greatest": greatest}
        for start, end, least, greatest in zip(
            shown(found["starts"], axis), shown(found["ends"], axis), found["least"], found["greatest"], strict=True
        )
    ]
    told = f"{rows:,} steps, the least and the greatest in each of {len(drawn):,} parts of the time"
    frame = _frame(size, f"{value} over time", f"{told}; at most {max(found['greatest']):,g}{more}")
    return Plot(specs.steps(frame, drawn, axis, (period.start, period.end), value), kind)


def _numbers(table: pa.Table, value: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    kind = table[value].type
    if not _is_number(kind):
        raise InvalidInputError(f"column {value!r} is {kind}; expected numbers to draw")
    return np.asarray(table[value].cast(pa.float64(), safe=False).combine_chunks(), np.float64)


def _histogram(df: Any, value: str, size: Any) -> Plot:
    if is_spark(df):
        from timeloom.plots.spark import spark_bins

        counts, bounds = spark_bins(df, value)
    else:
        table = to_arrow(df, "input")[0]
        numbers = _numbers(table, value)
        numbers = numbers[np.isfinite(numbers)]
        counts, bounds = [], np.zeros(1)
        if numbers.size:
            bounds = bin_edges(numbers.min(), numbers.max(), whole=pa.types.is_integer(table[value].type))
            counts = np.histogram(numbers, bounds)[0].tolist()
    rows = [
        {"low": low, "high": high, "rows": count}
        for low, high, count in zip(bounds[:-1].tolist(), bounds[1:].tolist(), counts, strict=True)
        if count
    ]
    frame = _frame(size, f"rows by {value}", f"{sum(counts):,} rows")
    return Plot(specs.histogram(frame, rows, value), "histogram")


def _rectangles(df: Any, both: tuple[Period, Period], color: str | None, window: Any, size: Any) -> Plot:
    table = _few(df)
    if table is None:
        raise UsageError(f"rectangles of more than {MOST} rows hide each other; choose rows first, by key or window")
    sys, app = (read_times(table, one) for one in both)
    spans = zip(*_spans(sys), *_spans(app), strict=True)
    rows = [dict(zip(("sys_start", "sys_end", "app_start", "app_end"), span, strict=True)) for span in spans]
    _coloured(rows, sys.table, color)
    drawn = None
    if window is not None:
        ticks = [
            shown(np.array([times.kind.ticks_of(at, "window")], np.int64), times.axis)[0]
            for times, span in zip((sys, app), window, strict=True)
            for at in span
        ]
        drawn = dict(zip(("sys_start", "sys_end", "app_start", "app_end"), ticks, strict=True))
    names = tuple(f"{one.start} – {one.end}" for one in both)
    frame = _frame(size, "versions", f"{len(rows):,} versions over two times")
    return Plot(specs.rectangles(frame, rows, (sys.axis, app.axis), (names[0], names[1]), drawn, color), "rectangles")
