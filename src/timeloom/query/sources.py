"""What follows FROM, run by the verbs."""

from dataclasses import dataclass
from typing import Any

from timeloom.model.measures import Measure
from timeloom.model.naming import Keys, joined_columns
from timeloom.operators.join import join
from timeloom.operators.sliding_windows import sliding_windows
from timeloom.operators.temporal_antijoin import temporal_antijoin
from timeloom.operators.temporal_join import temporal_join
from timeloom.query.scope import Scope, unused
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
    left_names, right_names = names_of(left), names_of(right)
    own = OwnKeys.of(source, left_names, right_names)
    if source.how not in ("semi", "anti"):
        left, right = _copied(left, own.left), _copied(right, own.right)
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
        return Relation(frame, Scope.of(text, source.left.alias, left_names))
    return Relation(frame, _joined_scope(source, left_names, right_names, without, own, text))


@dataclass(frozen=True)
class OwnKeys:
    """Copies of the keys, by which each side of a join keeps its own: new column to key."""

    left: dict[str, str]
    right: dict[str, str]

    @classmethod
    def of(cls, source: JoinSource, left: list[str], right: list[str]) -> "OwnKeys":
        """Name the copies; keys that a table does not have are left to the join, which refuses them."""
        prefix = unused("own_", [*left, *right])
        return cls(
            {f"{prefix}left_{at}": key for at, key in enumerate(source.left_on) if key in left},
            {f"{prefix}right_{at}": key for at, key in enumerate(source.right_on) if key in right},
        )


def _copied(frame: Any, copies: dict[str, str]) -> Any:
    if hasattr(frame, "column_names"):
        for name, column in copies.items():
            frame = frame.append_column(name, frame[column])
        return frame
    return frame.withColumns({name: frame[f"`{column.replace('`', '``')}`"] for name, column in copies.items()})


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
    return Relation(result, Scope.of(text, source.table.alias, names_of(result)))


def scanned(source: TableRef, frame: Any, text: str) -> Relation:
    """A table as it is."""
    return Relation(frame, Scope.of(text, source.alias, names_of(frame)))


def _entry(measure: Measure) -> Any:
    return measure.function if measure.column is None else (measure.column, measure.function)


def names_of(frame: Any) -> list[str]:
    """The columns of a table or DataFrame."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _joined_scope(
    source: JoinSource, left: list[str], right: list[str], without: tuple[str, ...], own: OwnKeys, text: str
) -> Scope:
    """Keys are each side's own under its alias, and whichever of the two there is without an alias."""
    names, shared, shown = {}, {}, []
    for column in joined_columns(left, right, Keys(source.left_on, source.right_on), without_right=without):
        shown.append(column.name)
        if column.origin in ("left", "key"):
            names[source.left.alias, column.left] = column.name
        if column.origin in ("right", "key"):
            names[source.right.alias, column.right] = column.name
        if column.origin == "key" and column.left == column.right:
            shared[column.left] = column.name
    names |= {(source.left.alias, key): name for name, key in own.left.items()}
    names |= {(source.right.alias, key): name for name, key in own.right.items()}
    return Scope(text, names, shared, shown)
