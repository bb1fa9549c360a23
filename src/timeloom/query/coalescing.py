"""``SELECT COALESCE PERIODS``: rows with equal results become one where their periods overlap or touch."""

from collections.abc import Callable
from dataclasses import replace

from timeloom.errors import TimeloomError
from timeloom.operators.coalesce import coalesce
from timeloom.query.items import output_name
from timeloom.query.pieces import Sql
from timeloom.query.scope import Scope
from timeloom.query.sources import with_definitions
from timeloom.query.structure import Query, Select
from timeloom.query.writing import Run, write

_AFTERWARDS = ("ORDER BY", "LIMIT", "OFFSET", "FETCH")


def coalesced(run: Run, select: Select, scope: Scope, query: Query, write_select: Callable[..., Sql]) -> Sql:
    """Run the SELECT, merge its periods, and go on with the rest of its clauses."""
    assert select.coalesced is not None
    period = select.coalesced
    before = {name: clause for name, clause in select.clauses.items() if name not in _AFTERWARDS}
    stars = any(run.tokens[item[1] - 1].kind == "STAR" for item in select.items)
    shown = {output_name(run, item).lower() for item in select.items}
    missing = [] if stars else [column for column in period if column.lower() not in shown]
    inner = write_select(run, replace(select, coalesced=None, clauses=before), scope, query, tuple(missing))
    run.picked = None
    frame = run.evaluate(with_definitions(run, scope, inner))
    names = {name.lower(): name for name in run.session.names(frame)}
    run.notes.append({"verb": "coalesce", "columns": len(names)})
    try:
        merged = coalesce(
            frame, period=(names.get(period[0].lower(), period[0]), names.get(period[1].lower(), period[1]))
        )
    except TimeloomError as error:
        raise run.located(select.tokens[0], error) from error
    sql = Sql("SELECT * FROM ", run.session.add(merged))
    for name in _AFTERWARDS:
        if name in select.clauses:
            sql.add(" ")
            sql.add(write(run, select.clauses[name].tokens, scope))
    return sql
