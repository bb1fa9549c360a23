"""What follows FROM, run by the verbs."""

from dataclasses import dataclass
from typing import Any

from timeloom.model.measures import Measure
from timeloom.model.naming import Keys, joined_columns
from timeloom.operators.join import join
from timeloom.operators.sliding_windows import sliding_windows
from timeloom.operators.temporal_antijoin import temporal_antijoin
from timeloom.operators.temporal_join import temporal_join
from timeloom.query.scope import Scope
from timeloom.query.statement import JoinSource, TableRef, WindowSource
from timeloom.query.text import error_at

USUAL = ("start", "end")


@dataclass(frozen=True)
class Relation:
    """A frame, and the names under which a query knows its columns."""

    frame: Any
    scope: Scope


def joined(source: JoinSource, left: Any, right: Any, text: str) -> Relation:
    """Join two frames by a relation, or sequenced."""
    options: dict[str, Any] = {
        "left_on": list(source.left_on) or None,
        "right_on": list(source.right_on) or None,
        "left_period": source.left.period or USUAL,
        "right_period": source.right.period or USUAL,
    }
    without: tuple[str, ...] = ()
    if source.relation is not None:
        frame = join(left, right, source.relation, how=source.how, **options)
    elif source.how == "anti":
        frame = temporal_antijoin(left, right, **options)
    elif source.how == "semi":
        raise error_at(
            text, source.right.token.start, "there is no TEMPORAL SEMI JOIN; expected INNER, LEFT, RIGHT, FULL or ANTI"
        )
    else:
        frame = temporal_join(left, right, how=source.how, **options)
        without = source.right.period or USUAL
    if source.how in ("semi", "anti"):
        return Relation(frame, Scope.of(text, source.left.alias, _names(left)))
    return Relation(frame, Scope(text, _joined_names(source, _names(left), _names(right), without)))


def windowed(source: WindowSource, frame: Any, measures: "tuple[Measure, ...] | None", text: str) -> Relation:
    """See a frame through sliding windows: aggregates by step, or without measures the rows of each step."""
    select = None if measures is None else {one.name: _entry(one) for one in measures}
    result = sliding_windows(
        frame,
        source.sys,
        source.app,
        steps=source.steps,
        ratio=source.ratio,
        meaning=source.meaning,
        select=select,
        rows=measures is None,
        bounds=measures is not None,
        sys_period=source.sys_period,
        app_period=source.app_period,
    )
    return Relation(result, Scope.of(text, source.table.alias, _names(result)))


def scanned(source: TableRef, frame: Any, text: str) -> Relation:
    """A table as it is."""
    return Relation(frame, Scope.of(text, source.alias, _names(frame)))


def _entry(measure: Measure) -> Any:
    return measure.function if measure.column is None else (measure.column, measure.function)


def _names(frame: Any) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _joined_names(
    source: JoinSource, left: list[str], right: list[str], without: tuple[str, ...]
) -> "dict[tuple[str, str], str]":
    names = {}
    for column in joined_columns(left, right, Keys(source.left_on, source.right_on), without_right=without):
        if column.origin in ("left", "key"):
            names[source.left.alias, column.left] = column.name
        if column.origin in ("right", "key"):
            names[source.right.alias, column.right] = column.name
    return names
