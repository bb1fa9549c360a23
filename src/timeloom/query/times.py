"""``FOR SYSTEM_TIME …``: the versions of a table that are valid at some time."""

from typing import Any

from timeloom.query.comparisons import containing
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Scope
from timeloom.query.sources import Source, given_frame, given_table, with_definitions, written_source
from timeloom.query.structure import AXIS_COLUMNS, USUAL, Columns, Factor, Range, TimeSpec
from timeloom.query.text import whole_number
from timeloom.query.writing import Run, write


def at_times(run: Run, factor: Factor, scope: Scope) -> Source:
    """A table as of some time: by its index if it has one, else by a filter."""
    frame = _by_index(run, factor, scope)
    if frame is not None:
        words = Sql(run.session.add(frame))
    else:
        words = _filtered(run, factor, scope)
    quote = run.session.quote
    alias = write(run, factor.alias_tokens, scope) if factor.alias_tokens[0] < factor.alias_tokens[1] else None
    named = alias or Sql("AS ", quote(factor.alias or "inner"))
    return written_source(run, factor, scope, Sql(words, " ", named))


def _filtered(run: Run, factor: Factor, scope: Scope) -> Sql:
    defined = factor.kind == "table" and scope.definitions.holder(run.tokens[factor.tokens[0]].text) is not None
    given = factor.kind == "table" and not defined
    words = Sql(run.session.add(given_frame(run, factor))) if given else write(run, factor.tokens, scope)
    from_words = Sql("SELECT * FROM ", words, " AS ", run.session.quote("inner"))
    labels = run.session.columns(with_definitions(run, scope, from_words))
    conditions = list[Sql]()
    for spec in factor.times:
        columns = columns_of(run, factor, spec, labels)
        if spec.kind != "all":
            conditions.append(_condition(run, spec, columns, scope))
        run.notes.append({"verb": "filter", "table": factor.alias, "time": f"{spec.axis} {spec.kind}"})
    where = Sql(" WHERE ", listed(conditions, " AND ")) if conditions else Sql()
    return Sql("(", from_words, where, ")")


def columns_of(run: Run, factor: Factor, spec: TimeSpec, labels: list[str]) -> Columns:
    """The period of a time axis: the columns that are named, or those of that axis, or the table's only period."""
    small = {label.lower() for label in labels}
    bitemporal = any(name in small for pair in AXIS_COLUMNS.values() for name in pair)
    ways = (
        [spec.period] if spec.period else [AXIS_COLUMNS[spec.axis], *([] if bitemporal else [factor.period or USUAL])]
    )
    for columns in ways:
        if all(column.lower() in small for column in columns):
            if columns is factor.period:
                run.used.add(factor.tokens[0])
            return columns
    wanted = " or ".join(f"({start}, {end})" for start, end in ways)
    raise run.fail(spec.token, f"the table has no columns {wanted}; name its own with PERIOD (start, end) before AS OF")


def _condition(run: Run, spec: TimeSpec, columns: Columns, scope: Scope) -> Sql:
    """The versions valid at some instant of a range. One that ends before it begins has none, as the standard says.

    Its ends are compared as instants, not as texts: that is what a choice between the column and a text makes of it.
    """
    start, end = (run.session.quote(column) for column in columns)
    values = [Sql("(", write(run, value, scope), ")") for value in spec.values]
    if spec.kind == "as of":
        return containing((start, end), values[0])
    first, last = values
    upto = "<" if spec.kind == "from" else "<="
    ended = f" < {end} OR ({end} IS NULL AND "
    timed = [Sql(f"CASE WHEN FALSE THEN {start} ELSE ", value, " END") for value in values]
    ordered = Sql("(", timed[0], f") {upto} (", timed[1], ")")
    return Sql(f"({start} {upto} ", last, " AND (", first, ended, first, " IS NOT NULL)) AND ", ordered, ")")


def _by_index(run: Run, factor: Factor, scope: Scope) -> Any:
    """The rows of an indexed table as of constant instants, or None if there is no such index."""
    name = run.tokens[factor.tokens[0]].text
    if factor.kind != "table" or scope.definitions.holder(name) is not None or run.session.dry:
        return None
    table = given_table(run, factor)
    instants: dict[str, Any] = {}
    for spec in factor.times:
        value = constant(run, spec.values[0]) if spec.kind == "as of" and spec.period is None else None
        if value is None:
            return None
        instants[spec.axis] = value
    if table.as_of is None:
        return None
    found = table.as_of(**instants)
    if found is not None:
        run.notes.append({"verb": "as_of", "table": factor.alias, **instants})
    return found


def constant(run: Run, value: Range) -> "int | str | None":
    """An instant that is written out, or None for one that an engine must compute."""
    tokens = run.tokens[slice(*value)]
    if len(tokens) == 2 and tokens[0].word in ("DATE", "TIMESTAMP", "TIMESTAMPTZ") and tokens[1].kind == "STRING":
        return tokens[1].text
    if len(tokens) == 1 and tokens[0].kind == "STRING":
        return tokens[0].text
    sign = -1 if len(tokens) == 2 and tokens[0].kind == "DASH" else 1
    number = whole_number(tokens[-1].text) if len(tokens) <= 2 and tokens[-1].kind == "NUMBER" else None
    return None if number is None or (len(tokens) == 2 and sign == 1) else sign * number
