"""`sql`: queries over time, in SQL."""

from typing import Any

from timeloom.model.explanation import Explanation
from timeloom.model.options import checked
from timeloom.query.text import deepest, error_at


@checked
def sql(text: Any, /, **tables: Any) -> Any:
    """Run SQL over tables, with what it says about time.

    Parameters
    ----------
    text
        A query, or an UPDATE or DELETE of a `BitemporalTable`. Anywhere in it there may be::

            orders [SYS, START 100, RANGE 4, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] [RATIO 1:2] STEPS 8
            orders FOR SYSTEM_TIME AS OF 5
            shifts JOIN calls ON shifts.period CONTAINS calls.period AND shifts.who = calls.who
            prices TEMPORAL LEFT JOIN stock USING (item)
            SELECT item, count(*) FROM stock GROUP BY PERIOD, item
            SELECT COALESCE PERIODS item FROM stock
            UPDATE prices FOR PORTION OF APPLICATION_TIME FROM 5 TO 9 SET price = 3 WHERE item = 'a' AT SYSTEM_TIME 7

        All else is SQL of the engine: DuckDB for local tables (``pip install 'timeloom[sql]'``), Spark for DataFrames.
    **tables
        The tables by name: Spark DataFrames, or local tables of any kind that exports Arrow; a `BitemporalTable`, a
        `BitemporalIndex` or a `StabForest`, which show all their rows.

    Returns
    -------
    A table of the kind of the first table in the query. Windows have a column ``step``.

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
    >>> tl.sql('''with known as (select * from plans for system_time as of 3)
    ...           select a.plan, b.plan as beside
    ...           from known a period (app_start, app_end) join known b period (app_start, app_end)
    ...             on a.period intersects b.period and a.fee < b.fee''', plans=plans).to_pylist()
    [{'plan': 'a', 'beside': 'b'}]

    An error points at the word that it is about:

    >>> tl.sql("select count(*) from plans [SYS, START 1, RANGE two, SLIDE 1]", plans=plans)
    Traceback (most recent call last):
      ...
    timeloom.errors.UsageError: line 1, column 49: found 'two', expected a span: a whole number, or an INTERVAL
      select count(*) from plans [SYS, START 1, RANGE two, SLIDE 1]
                                                      ^
    """
    return _guarded(text, tables, dry=False)


def _explained(text: Any, /, **tables: Any) -> Explanation:
    answer: Explanation = _guarded(text, tables, dry=True)
    return answer


sql.explained = _explained  # type: ignore[attr-defined]


def _guarded(text: Any, tables: "dict[str, Any]", *, dry: bool) -> Any:
    from timeloom.query.running import answer

    try:
        return answer(text, tables, dry=dry)
    except RecursionError as error:
        raise error_at(
            text, deepest(text), "the query is nested too deeply here; expected fewer levels, or IN for a long OR"
        ) from error
