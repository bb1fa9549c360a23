"""From a text and tables to the answer, or to the plan of it."""

from collections import Counter
from typing import Any

from timeloom.engines.tables.frames import family_of
from timeloom.errors import UsageError
from timeloom.model.explanation import Explanation
from timeloom.query.advice import advice
from timeloom.query.changes import apply_change
from timeloom.query.cursor import ends_operand
from timeloom.query.inputs import Given, read_input, zones
from timeloom.query.parse import parse, table_names
from timeloom.query.pieces import Sql
from timeloom.query.scope import Definitions, Scope
from timeloom.query.selects import write_query
from timeloom.query.session import Session
from timeloom.query.structure import Change, Query
from timeloom.query.text import Token, error_at
from timeloom.query.writing import Run


def answer(text: str, tables: "dict[str, Any]", *, dry: bool) -> Any:
    """Run a text; ``dry`` gives its plan instead, and runs nothing on any row."""
    tokens, statement = parse(text)
    used = _used(tables, table_names(tokens, statement))
    spark = bool(used) and family_of({name: tables[name] for name in used}) == "spark"
    given = {name: read_input(name, tables[name]) for name in used}
    if dry and not spark:
        given = {name: table.without_rows() for name, table in given.items()}
    run = Run(text, tokens, statement, given, None, write_query)  # type: ignore[arg-type]
    run.prefix = _prefix(tokens, given)
    run.words = {token.text.lower() for token in tokens}
    run.everything = _has_star(tokens)
    run.session = _session(run, given, spark=spark, dry=dry)
    try:
        return _explained(run) if dry else _answered(run, used)
    finally:
        run.session.close()


def _answered(run: Run, used: list[str]) -> Any:
    if isinstance(run.statement.body, Change):
        return apply_change(run, run.statement.body)
    sql = _written(run, run.statement.body)
    if run.picked is None:
        frame = run.session.run(sql)
    else:
        _refuse_repeated(run, [name for _, name in run.picked[1]])
        frame = run.session.shaped(run.picked[0].frame, run.picked[1])
    _refuse_repeated(run, run.session.names(frame))
    return run.tables[used[0]].restore(frame) if used else frame


def _refuse_repeated(run: Run, names: list[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        at = _first_mention(run, repeated[0])
        raise error_at(
            run.text, at, f"two results are called {repeated[0]!r}; name the columns, and give one an alias with AS"
        )


def _written(run: Run, query: Query) -> Sql:
    """The words for the engine; a period that was named and never asked for is refused."""
    sql = write_query(run, query, Scope(Definitions()))
    for at in run.declared:
        if at not in run.used:
            raise run.fail(at, "PERIOD after this table has no meaning here; nothing in the query asks for its period")
    return sql


def _explained(run: Run) -> Explanation:
    if isinstance(run.statement.body, Change):
        raise UsageError("an UPDATE or DELETE runs in one way only; there is nothing to explain")
    sql = _written(run, run.statement.body)
    run.session.columns(sql)
    shown = [f"{note['verb']}({', '.join(f'{k}={v}' for k, v in note.items() if k != 'verb')})" for note in run.notes]
    facts = {"verbs": [note["verb"] for note in run.notes], "calls": shown, "inputs": run.asked, "sql": str(sql)}
    why = tuple(
        f"{note['verb']} answers what is about time; {run.session.engine} runs the rest" for note in run.notes[:1]
    )
    return Explanation("sql", run.session.engine, facts, why)


def _used(tables: "dict[str, Any]", names: list[str]) -> list[str]:
    """The tables that a query names, in its order; one that is missing is refused where it stands."""
    found = []
    for name in names:
        same = [name] if name in tables else [key for key in tables if key.lower() == name.lower()]
        found += same if len(same) == 1 else []
    return list(dict.fromkeys(found)) or list(tables)[:1]


def _session(run: Run, given: "dict[str, Given]", *, spark: bool, dry: bool) -> Session:
    def locate(words: str, offset: int | None, sql: Sql) -> Exception:
        return _engine_error(run, words, offset, sql)

    if spark:
        from timeloom.query.spark_session import SparkSqlSession

        return SparkSqlSession(next(iter(given.values())).frame.sparkSession, run.prefix, locate)
    from timeloom.query.local_session import LocalSession

    return LocalSession(zones(given), run.prefix, locate, dry=dry)


def _engine_error(run: Run, words: str, offset: int | None, sql: Sql) -> Exception:
    """An error of the engine, at the words of the query that it is about."""
    words = " ".join(words.replace(run.prefix, "").split()).rstrip("!")
    at = min(0 if offset is None else sql.origin(offset), len(run.text))
    return error_at(run.text, at, advice(run.session.engine, run.tokens, at) or words)


def _prefix(tokens: list[Token], given: "dict[str, Given]") -> str:
    """A prefix for names of our own that no name in the query or its tables has."""
    names = [token.text.lower() for token in tokens]
    for table in given.values():
        names += [name.lower() for name in table.names]
    prefix = "timeloom_"
    while any(name.startswith(prefix) for name in names):
        prefix = f"{prefix}_"
    return prefix


def _has_star(tokens: list[Token]) -> bool:
    """Tell whether columns may be asked for that no word names."""
    for at, token in enumerate(tokens):
        if token.word in ("NATURAL", "COLUMNS"):
            return True
        if token.kind != "STAR" or not at:
            continue
        counted = tokens[at - 1].kind == "L_PAREN" and at > 1 and tokens[at - 2].word == "COUNT"
        if not counted and not ends_operand(tokens[at - 1]):
            return True
    return False


def _first_mention(run: Run, name: str) -> int:
    return next((token.start for token in run.tokens if token.text.lower() == name.lower()), 0)
