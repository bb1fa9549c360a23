"""`sql`: queries over time, in SQL."""

from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.options import checked
from timeloom.query.text import deepest, error_at


@checked
def sql(text: Any, /, **tables: Any) -> Any:
    """Run a query with sliding windows or temporal joins over tables.

    Parameters
    ----------
    text
        A SELECT. After FROM stand a table, a table with windows, or two tables joined by time::

            orders [SYS, START 100, RANGE 4, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] [RATIO 1:2] STEPS 8
            shifts JOIN calls ON shifts.period CONTAINS calls.period AND shifts.who = calls.who
            prices TEMPORAL LEFT JOIN stock USING (item)

        Around it ordinary SQL is understood: expressions, aggregates, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT.
    **tables
        The tables by name: Spark DataFrames, or local tables of any kind that exports Arrow.

    Returns
    -------
    A table of the kind of the first table in the query. A query with windows has a column ``step``.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> plans = pa.table({"plan": ["a", "b", "c"], "fee": [5, 7, 9],
    ...                   "sys_start": [1, 2, 4], "sys_end": [4, None, None],
    ...                   "app_start": [10, 12, 11], "app_end": [20, 14, 13]})
    >>> tl.sql('''select count(*) as n, sum(fee) as fees
    ...           from plans [SYS, START 1, RANGE 2, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] STEPS 2
    ...           where fee > 5''', plans=plans).to_pylist()
    [{'step': 0, 'n': 1, 'fees': 7}, {'step': 1, 'n': 2, 'fees': 16}, {'step': 2, 'n': 1, 'fees': 7}]

    An error points at the word that it is about:

    >>> tl.sql("select count(*) from plans [SYS, START 1, RANGE two, SLIDE 1]", plans=plans)
    Traceback (most recent call last):
      ...
    timeloom.errors.UsageError: line 1, column 49: found 'two', expected a span: a whole number, or an INTERVAL
      select count(*) from plans [SYS, START 1, RANGE two, SLIDE 1]
                                                      ^
    """
    try:
        return _answer(text, tables)
    except RecursionError as error:
        raise error_at(
            text, deepest(text), "the query is nested too deeply here; expected fewer levels, or IN for a long OR"
        ) from error


def _answer(text: str, tables: "dict[str, Any]") -> Any:
    from timeloom.model.sliding_windows import BOUNDS, STEP
    from timeloom.query.clauses import clauses_of
    from timeloom.query.execute import run
    from timeloom.query.parse import parse
    from timeloom.query.sources import joined, names_of, scanned
    from timeloom.query.statement import JoinSource, WindowSource
    from timeloom.query.understood import check_understood

    statement = parse(text)
    source, windows = statement.source, None
    if isinstance(source, JoinSource):
        refs = [source.left, source.right]
    elif isinstance(source, WindowSource):
        refs, windows = [source.table], source
    else:
        refs = [source]
    frames = [_find(ref, tables, text) for ref in refs]
    rows, *others, restore, spark = _frames(frames, [ref.name for ref in refs])
    check_understood(statement.select, text, statement.clauses, functions=spark)
    columns = [name for each in (rows, *others) for name in names_of(each.frame)]
    clauses = clauses_of(statement.select, text, columns + ([STEP, *BOUNDS] if windows else []))
    if isinstance(source, JoinSource):
        relation = joined(source, rows.frame, others[0].frame, text)
    else:
        relation = scanned(refs[0], rows.frame, text)
    return restore(run(clauses, rows.of(relation.frame), relation.scope, windows, text).frame)


def _find(ref: Any, tables: "dict[str, Any]", text: str) -> Any:
    exact = [tables[name] for name in tables if name == ref.name]
    found = exact or [tables[name] for name in tables if name.lower() == ref.name.lower()]
    if len(found) == 1:
        return found[0]
    if not tables:
        raise UsageError("no table was given; pass each under its name, as in tl.sql(text, orders=table)")
    raise error_at(text, ref.token.start, f"there is no table {ref.name!r}. {did_you_mean(ref.name, tables)}")


def _frames(frames: "list[Any]", names: "list[str]") -> "list[Any]":
    """Rows for each frame, then the function that turns a result into the first frame's kind, and if it is Spark's."""
    from timeloom.engines.tables.frames import family_of, to_arrow

    if family_of(dict(zip(names, frames, strict=True))) == "spark":
        from timeloom.query.spark_rows import SparkRows

        return [*(SparkRows(frame) for frame in frames), lambda frame: frame, True]
    from timeloom.query.local_rows import LocalRows

    converted = [to_arrow(frame, name) for frame, name in zip(frames, names, strict=True)]
    return [*(LocalRows(table) for table, _ in converted), converted[0][1], False]
