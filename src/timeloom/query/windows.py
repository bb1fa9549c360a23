"""Tables with windows: the rows of each step, or aggregates by step in one pass."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.errors import TimeloomError
from timeloom.model.conditions import Condition
from timeloom.model.sliding_windows import BOUNDS, STEP
from timeloom.operators.sliding_windows import sliding_windows
from timeloom.query.structure import Factor, Range, Windows
from timeloom.query.window_grammar import NOW
from timeloom.query.writing import Run


def window_rows(run: Run, factor: Factor, frame: Any) -> Any:
    """The rows inside each step."""
    return through_windows(run, factor, frame, None)


def through_windows(run: Run, factor: Factor, frame: Any, select: "dict[str, Any] | None") -> Any:
    """See a frame through windows: aggregates by step, or without any the rows of each step."""
    assert factor.windows is not None
    windows = factor.windows
    facts = {name: value for name, value in vars(windows).items() if value != getattr(Windows, name, None)}
    run.notes.append({"verb": "sliding_windows", "table": factor.alias, **facts, "select": select or "rows"})
    try:
        return sliding_windows(
            frame,
            _dated(run, windows, "sys", frame),
            _dated(run, windows, "app", frame),
            steps=windows.steps,
            ratio=windows.ratio,
            meaning=windows.meaning,
            select=select,
            rows=select is None,
            bounds=select is not None,
            sys_period=windows.sys_period,
            app_period=windows.app_period,
        )
    except TimeloomError as error:
        raise run.located(factor.tokens[0], error) from error


def steps_of_index(
    run: Run, factor: Factor, index: BitemporalIndex, select: dict[str, Any], where: "Range | None"
) -> Any:
    """Aggregates by step, from an index, of the rows that satisfy a condition; None if it cannot give them."""
    assert factor.windows is not None
    windows, known = factor.windows, (index.sys_period, index.app_period)
    same = all(
        (period.start, period.end) == columns
        for period, columns in zip(known, (windows.sys_period, windows.app_period), strict=True)
    )
    if not same or any(measure[1] in ("first", "last") for measure in select.values() if measure != "count"):
        return None
    head = index.rows([])
    condition = None if where is None else _condition(run, where, head.column_names)
    if where is not None and condition is None:
        return None
    schema = through_windows(run, factor, head, select).schema
    run.notes[-1]["by"] = "index"
    if condition is not None:
        run.notes[-1]["where"] = condition
    try:
        query = index.windows(
            sys=_dated(run, windows, "sys", head),
            app=_dated(run, windows, "app", head),
            steps=windows.steps,
            ratio=windows.ratio,
            meaning=windows.meaning,
            select=select,
            where=condition,
        )
        rows = [(step.number, *step.sys, *step.app, step.values) for step in query]
    except TimeloomError as error:
        raise run.located(factor.tokens[0], error) from error
    named = [dict(zip((STEP, *BOUNDS), row[:-1], strict=True)) | row[-1] for row in rows]
    return pa.Table.from_pylist(named, schema)


def _condition(run: Run, where: Range, labels: list[str]) -> str | None:
    """The condition of WHERE if an index can look at rows by it; everything else is for the engine."""
    text = run.text[run.tokens[where[0] + 1].start : run.tokens[where[1] - 1].end]
    try:
        Condition(text).resolve(labels)
    except TimeloomError:
        return None
    return text


def _dated(run: Run, windows: Windows, axis: str, frame: Any) -> Any:
    """A slide whose start is an instant; NOW is one of the moment."""
    slide, period = getattr(windows, axis), getattr(windows, f"{axis}_period")
    return replace(slide, start=run.session.current(frame, period[0])) if slide.start == NOW else slide
