"""Joins by time: one relation between periods, or the sequenced join. Equal columns are keys, all else is a filter."""

from dataclasses import dataclass
from typing import Any, cast

from timeloom.errors import TimeloomError
from timeloom.model.join import How
from timeloom.model.relation import Relation
from timeloom.operators.join import join as join_verb
from timeloom.query.matching import Sides, shaped_sides
from timeloom.query.results import narrowed, result_source, with_unmatched
from timeloom.query.scope import Scope
from timeloom.query.sequenced import join_sequenced
from timeloom.query.sources import Cells, Source, Table
from timeloom.query.structure import Instant, Join, PeriodOf, PeriodValue, Predicate, Range
from timeloom.query.writing import Run

Column = tuple[str, str, str]
"""A side ("left" or "right"), an alias and a column in small letters."""
Period = tuple[Column, Column]


@dataclass(frozen=True)
class Condition:
    """What a join demands: a relation between two periods, equal columns, and whatever else."""

    relation: Relation | None
    left_period: tuple[Column, Column] | None
    right_period: tuple[Column, Column] | None
    keys: tuple[tuple[Column, Column], ...]
    rest: tuple[Range, ...]


def join_by_time(run: Run, left: Source, join: Join, right: Source, scope: Scope) -> Source | None:
    """Join by a verb, or None if the join is one for the engine."""
    if join.style in ("asof", "natural", "positional") or join.kind == "cross":
        return None
    condition = _read_condition(run, left, join, right)
    if join.style == "temporal":
        if condition.relation is not None:
            raise run.fail(
                join.tokens[0], "a TEMPORAL join relates periods by itself; expected keys only, or no TEMPORAL"
            )
    elif condition.relation is None:
        return None
    try:
        return _joined(run, left, join, right, scope, condition)
    except TimeloomError as error:
        raise run.located(join.tokens[0], error) from error


def _joined(run: Run, left: Source, join: Join, right: Source, scope: Scope, condition: Condition) -> Source:
    tables = left.table(), right.table()
    periods = _periods(run, condition, join, tables)
    sides = shaped_sides(run, *tables, condition.keys, periods)
    run.notes.append(_note(join, condition, sides))
    if join.style == "temporal":
        return join_sequenced(run, join.kind, sides, scope, condition.rest)
    assert condition.relation is not None
    options: dict[str, Any] = {
        "on": sides.keys or None,
        "left_period": sides.left_period,
        "right_period": sides.right_period,
    }
    if not condition.rest:
        frame = join_verb(sides.left, sides.right, condition.relation, how=cast(How, join.kind), **options)
        return result_source(run, frame, sides.result(join.kind), scope)
    pairs = join_verb(sides.left, sides.right, condition.relation, how="inner", **options)
    matched = narrowed(
        run, result_source(run, pairs, sides.result("inner"), scope, final=join.kind == "inner"), condition.rest, scope
    )
    if join.kind == "inner":
        return matched
    return with_unmatched(run, join.kind, sides, matched, scope)


def _note(join: Join, condition: Condition, sides: Sides) -> dict[str, Any]:
    verb = "join" if join.style != "temporal" else "temporal_antijoin" if join.kind == "anti" else "temporal_join"
    note: dict[str, Any] = {"verb": verb, "tables": sides.aliases, "how": join.kind}
    if condition.relation is not None:
        note["relation"] = condition.relation.name
    note["keys"] = [f"{a[1]}.{a[2]} = {b[1]}.{b[2]}" for a, b in condition.keys]
    return {**note, "other conditions": len(condition.rest)}


def _read_condition(run: Run, left: Source, join: Join, right: Source) -> Condition:
    if join.using is not None:
        names = [token.text.lower() for token in run.tokens[slice(*join.using)] if token.is_name]
        keys = tuple((_named(run, left, name, join), _named(run, right, name, join)) for name in names)
        return Condition(None, None, None, tuple((("left", *a), ("right", *b)) for a, b in keys), ())
    relation: Relation | None = None
    periods: tuple[Any, Any] = (None, None)
    keys_found: list[tuple[Column, Column]] = []
    rest: list[Range] = []
    for part in join.conjuncts:
        predicate = run.statement.predicates.get(part[0])
        if predicate is not None and predicate.tokens == part and relation is None:
            found = _oriented(run, predicate, left, right)
            if found is not None:
                relation, periods = found[0], found[1:]
                continue
        pair = _equal_columns(run, part, left, right)
        taken = pair is not None and any(pair[0] == a or pair[1] == b for a, b in keys_found)
        if pair is None or taken:
            rest.append(part)
        else:
            keys_found.append(pair)
    return Condition(relation, *periods, tuple(keys_found), tuple(rest))


def _named(run: Run, source: Source, name: str, join: Join) -> tuple[str, str]:
    """The alias that has a column of USING; of several the first, since they are equal."""
    for alias, named in source.tables.items():
        if name in (label.lower() for label in named.names()):
            return alias, name
    assert join.using is not None
    raise run.fail(join.using[0], f"there is no column {name!r} on both sides of the join; expected columns of both")


def _oriented(run: Run, predicate: Predicate, left: Source, right: Source) -> tuple[Relation, Period, Period] | None:
    """The relation from left to right, and the periods; None if the engine has to compare."""
    if isinstance(predicate.right, Instant):
        return None
    first, second = (_period(run, operand, left, right) for operand in (predicate.left, predicate.right))
    if first is None or second is None or first[0][0] == second[0][0]:
        return None
    for side, alias, _ in (first[0], second[0]):
        if alias in (left if side == "left" else right).nullable:
            return None
    if first[0][0] == "left":
        return predicate.relation, first, second
    return ~predicate.relation, second, first


def _period(run: Run, operand: PeriodOf | PeriodValue, left: Source, right: Source) -> tuple[Column, Column] | None:
    if isinstance(operand, PeriodValue):
        start, end = (_column(run, part, left, right) for part in (operand.start, operand.end))
        return None if start is None or end is None or start[:2] != end[:2] else (start, end)
    alias = run.tokens[operand.alias].text.lower()
    for side, source in (("left", left), ("right", right)):
        if alias in source.tables:
            names = {label.lower() for label in source.tables[alias].names()}
            run.used.add(source.tables[alias].declared)
            first, second = (column.lower() for column in source.tables[alias].period)
            if first not in names or second not in names:
                raise run.fail(
                    operand.alias,
                    f"{source.tables[alias].alias!r} has no columns {source.tables[alias].period}; name its own after "
                    "the table: PERIOD (start, end)",
                )
            return (side, alias, first), (side, alias, second)
    return None


def _column(run: Run, tokens: Range, left: Source, right: Source) -> Column | None:
    """The column that a range of tokens names, if it names one and no more."""
    parts = run.tokens[slice(*tokens)]
    if len(parts) == 3 and parts[0].is_name and parts[1].kind == "DOT" and parts[2].is_name:
        for side, source in (("left", left), ("right", right)):
            alias, name = parts[0].text.lower(), parts[2].text.lower()
            if alias in source.tables:
                known = name in (label.lower() for label in source.tables[alias].names())
                return (side, alias, name) if known else None
    if len(parts) == 1 and parts[0].is_name:
        name = parts[0].text.lower()
        found = [
            (side, alias, name)
            for side, source in (("left", left), ("right", right))
            for alias, named in source.tables.items()
            if name in (label.lower() for label in named.names())
        ]
        return found[0] if len(found) == 1 else None
    return None


def _equal_columns(run: Run, part: Range, left: Source, right: Source) -> tuple[Column, Column] | None:
    equals = [at for at in range(*part) if run.tokens[at].kind == "EQ"]
    if len(equals) != 1:
        return None
    ends = [_column(run, tokens, left, right) for tokens in ((part[0], equals[0]), (equals[0] + 1, part[1]))]
    if ends[0] is None or ends[1] is None or ends[0][0] == ends[1][0]:
        return None
    return (ends[0], ends[1]) if ends[0][0] == "left" else (ends[1], ends[0])


def _periods(
    run: Run, condition: Condition, join: Join, tables: tuple[Table, Table]
) -> tuple[tuple[str, str], tuple[str, str]]:
    """The frames' columns of both periods; a sequenced join takes those of the first table of each side."""
    given = (condition.left_period, condition.right_period)
    result = []
    for table, period in zip(tables, given, strict=True):
        if period is not None:
            found = [table.cells[alias].column(name) for _, alias, name in period]
        else:
            first: Cells = next(iter(table.cells.values()))
            run.used.add(first.declared)
            found = [first.column(name) for name in first.period]
            if None in found:
                raise run.fail(
                    join.tokens[0],
                    f"{first.alias!r} has no columns {first.period}; name its own after the table: PERIOD (start, end)",
                )
        result.append((str(found[0]), str(found[1])))
    return result[0], result[1]
