"""``UPDATE`` and ``DELETE … FOR PORTION OF`` on a bitemporal table."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from timeloom.bitemporal.table import BitemporalTable
from timeloom.errors import TimeloomError, UsageError
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Definitions, Named, Scope
from timeloom.query.structure import Change
from timeloom.query.times import constant
from timeloom.query.writing import Run, write

START, END, SYS_END = "app_start", "app_end", "sys_end"


def apply_change(run: Run, change: Change) -> pa.Table:
    """Change the current rows that a condition names, each for the portion that it shares with the one given."""
    name = run.tokens[change.table].text
    found = next((value for key, value in run.tables.items() if key.lower() == name.lower()), None)
    if found is None:
        raise run.fail(
            change.table, f"there is no table {name!r}; pass it under its name, as in tl.sql(text, {name}=table)"
        )
    if found.table is None:
        raise run.fail(
            change.table, f"{name!r} is no BitemporalTable; expected one, since only it keeps what was before"
        )
    table = found.table
    rows = _affected(run, change, found.frame)
    columns = [run.tokens[column].text for column, _ in change.values]
    moves = [column for column, _ in change.values if run.tokens[column].text.lower() in (START, END)]
    if moves and change.portion is not None:
        raise run.fail(moves[0], "the period moves, of which FOR PORTION OF takes a part; expected one of the two")
    try:
        moment = _moment(run, change, table)
        with table.batch() as batch:
            for key, values, portion in _changes(table, rows, columns):
                if moves:
                    batch.update(key, values, sys=moment, valid_at=portion[0])
                elif change.kind == "update":
                    batch.update(key, values, sys=moment, portion=portion)
                else:
                    batch.delete(key, sys=moment, portion=portion)
    except TimeloomError as error:
        raise run.located(change.table, error) from error
    return pa.table({"rows": [rows.num_rows]})


def _affected(run: Run, change: Change, history: pa.Table) -> pa.Table:
    """The current rows to change: key, portion, and the new values."""
    quote, alias = run.session.quote, change.alias
    labels = history.column_names
    scope = Scope(Definitions(), None, {alias.lower(): Named(alias, labels=lambda: labels)})
    for column, _ in change.values:
        if run.tokens[column].text.lower() not in (label.lower() for label in labels):
            raise run.fail(column, f"there is no column {run.tokens[column].text!r} in {alias!r}")
    start, end = f"{quote(alias)}.{quote(START)}", f"{quote(alias)}.{quote(END)}"
    shown = [f"{quote(alias)}.{quote(label)} AS {quote(label)}" for label in labels if label not in (START, END)]
    conditions = [Sql(f"{quote(alias)}.{quote(SYS_END)} IS NULL")]
    if change.portion is None:
        shown += [f"{start} AS {quote(START)}", f"{end} AS {quote(END)}"]
    else:
        first, last = (f"({write(run, part, scope)})" for part in change.portion)
        shown += [f"GREATEST({start}, {first}) AS {quote(START)}"]
        shown += [f"CASE WHEN {end} IS NULL OR {end} > {last} THEN {last} ELSE {end} END AS {quote(END)}"]
        conditions.append(Sql(f"{start} < {last} AND ({end} IS NULL OR {first} < {end}) AND {first} < {last}"))
    new = [
        Sql("(", write(run, value, scope), f") AS {quote(f'{run.prefix}{at}')}")
        for at, (_, value) in enumerate(change.values)
    ]
    if change.where is not None:
        conditions.append(Sql("(", write(run, change.where, scope), ")"))
    words = Sql("SELECT ", listed([*shown, *new]), " FROM ", run.session.add(history), f" AS {quote(alias)} WHERE ")
    return run.evaluate(Sql(words, listed(conditions, " AND ")))


def _changes(table: BitemporalTable, rows: pa.Table, columns: list[str]) -> Any:
    """For each row its key, its new values and its portion."""
    key = table.key
    labels = {label.lower(): label for label in rows.column_names}
    new = rows.column_names[len(rows.column_names) - len(columns) :]
    for row in rows.to_pylist():
        identity = tuple(row[name] for name in key)
        values = {labels[column.lower()]: row[name] for column, name in zip(columns, new, strict=True)}
        yield identity if len(key) > 1 else identity[0], values, (row[START], row[END])


def _moment(run: Run, change: Change, table: BitemporalTable) -> Any:
    """The system time of a change: the one given, or now if the table has times of day."""
    if change.at is not None:
        given = constant(run, change.at)
        if given is not None:
            return given
        found = run.evaluate(Sql("SELECT ", write(run, change.at, Scope(Definitions())), " AS t"))
        return found["t"][0].as_py()
    if isinstance(table.latest, datetime):
        now = datetime.now(UTC)
        return now if table.latest.tzinfo is not None else now.replace(tzinfo=None)
    raise UsageError(
        "the change has no system time, and that of the table is no time of day; add AT SYSTEM_TIME and an instant"
    )
