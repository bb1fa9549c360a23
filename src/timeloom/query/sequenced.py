"""Sequenced joins: at each instant the ordinary join of the rows valid then."""

from typing import Any, cast

from timeloom.model.sequenced import SequencedHow
from timeloom.operators.temporal_antijoin import temporal_antijoin
from timeloom.operators.temporal_join import temporal_join
from timeloom.query.matching import Sides
from timeloom.query.pieces import Sql
from timeloom.query.results import narrowed, result_source
from timeloom.query.scope import Scope
from timeloom.query.sources import Source
from timeloom.query.structure import JoinKind, Range
from timeloom.query.writing import Run


def join_sequenced(run: Run, kind: JoinKind, sides: Sides, scope: Scope, rest: tuple[Range, ...]) -> Source:
    """Join by keys; other conditions are part of the match, whatever the kind of the join."""
    _refuse_times(run, sides, rest)
    if (rest and kind != "inner") or kind == "semi":
        return _by_pieces(run, kind, sides, scope, rest)
    if kind == "anti":
        return result_source(
            run, temporal_antijoin(sides.left, sides.right, **_options(sides)), sides.result(kind), scope
        )
    frame = temporal_join(sides.left, sides.right, how=cast(SequencedHow, kind), **_options(sides))
    found = result_source(run, frame, sides.result(kind, without=sides.right_period), scope)
    return narrowed(run, found, rest, scope) if rest else found


def _options(sides: Sides) -> dict[str, Any]:
    return {"on": sides.keys or None, "left_period": sides.left_period, "right_period": sides.right_period}


def _refuse_times(run: Run, sides: Sides, rest: tuple[Range, ...]) -> None:
    """The periods of a sequenced join are its own business, so conditions on their ends have no meaning."""
    times = {
        name.lower()
        for table in (sides.left_table, sides.right_table)
        for c in table.cells.values()
        for name in c.period
    }
    for begin, end in rest:
        for at in range(begin, end):
            if run.tokens[at].is_name and run.tokens[at].text.lower() in times:
                raise run.fail(at, "a TEMPORAL join compares values, not times; expected conditions on other columns")


def _by_pieces(run: Run, kind: JoinKind, sides: Sides, scope: Scope, rest: tuple[Range, ...]) -> Source:
    """Pairs, and the sub-periods that no pair covers. Rows of equal values have equal partners, so a number of the
    values tells which sub-periods belong to which rows.
    """
    numbers = run.fresh(), run.fresh()
    left, right = _numbered(run, sides.left, numbers[0]), _numbered(run, sides.right, numbers[1])
    frame = temporal_join(left, right, how="inner", **_options(sides))
    table = sides.result("inner", without=sides.right_period)
    if rest:
        frame = narrowed(run, result_source(run, frame, table, scope, final=False), rest, scope).table().frame
    matched: dict[str, Any] = {"left_period": sides.left_period, "right_period": sides.left_period, "on": numbers[0]}
    alone = temporal_antijoin(left, _covered(run, sides, frame, numbers[0]), **matched)
    if kind in ("semi", "anti"):
        if kind == "semi":
            alone = temporal_antijoin(left, _covered(run, sides, alone, numbers[0]), **matched)
        return result_source(run, alone, sides.result(kind), scope)
    parts: list[tuple[Any, dict[str, str]]] = [(frame, {})]
    parts += [(alone, {})] if kind in ("left", "full") else []
    if kind in ("right", "full"):
        periods: dict[str, Any] = {"left_period": sides.right_period, "right_period": sides.left_period}
        alone = temporal_antijoin(right, _covered(run, sides, frame, numbers[1]), on=numbers[1], **periods)
        parts += [(alone, dict(zip(sides.left_period, sides.right_period, strict=True)))]
    columns = [column for column in run.session.names(frame) if column not in numbers]
    words = " UNION ALL ".join(_padded(run, part, columns, instead) for part, instead in parts)
    return result_source(run, run.evaluate(Sql(words)), sides.result(kind, without=sides.right_period), scope)


def _numbered(run: Run, frame: Any, number: str) -> Any:
    """A frame with a number that rows have in common if all their values are equal."""
    quote = run.session.quote
    order = ", ".join(quote(name) for name in run.session.names(frame))
    words = f"SELECT *, dense_rank() OVER (ORDER BY {order}) AS {quote(number)} FROM {run.session.add(frame)}"
    return run.evaluate(Sql(words))


def _covered(run: Run, sides: Sides, frame: Any, number: str) -> Any:
    return run.session.shaped(frame, [(name, name) for name in (number, *sides.left_period)])


def _padded(run: Run, frame: Any, columns: list[str], instead: dict[str, str]) -> str:
    """Select the columns of a result from a part of it; those that it lacks are null."""
    quote, names = run.session.quote, set(run.session.names(frame))
    shown = []
    for column in columns:
        source = instead.get(column, column)
        shown.append(f"{quote(source) if source in names else 'NULL'} AS {quote(column)}")
    return f"SELECT {', '.join(shown)} FROM {run.session.add(frame)}"
