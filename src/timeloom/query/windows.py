"""Tables with windows: the rows of each step, or aggregates by step in one pass."""

from dataclasses import replace
from typing import Any

from timeloom.errors import TimeloomError
from timeloom.operators.sliding_windows import sliding_windows
from timeloom.query.structure import Factor, Windows
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


def _dated(run: Run, windows: Windows, axis: str, frame: Any) -> Any:
    """A slide whose start is an instant; NOW is one of the moment."""
    slide, period = getattr(windows, axis), getattr(windows, f"{axis}_period")
    return replace(slide, start=run.session.current(frame, period[0])) if slide.start == NOW else slide
