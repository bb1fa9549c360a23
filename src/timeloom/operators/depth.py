"""`depth`: how many rows are active over time."""

import importlib
from collections.abc import Sequence
from typing import Any

from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def depth(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    name: str = "depth",
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> Any:
    """Tell how many rows are active over time: one row for each stretch from an endpoint to the next.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        Columns that group the rows: a profile for each combination of their values.
    name
        The column for the number of active rows.
    period
        The period columns, as ``(start, end)`` or `Period`.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The grouping columns, the stretch in the period columns, and the depth. Time is cut at every endpoint, also where
    the number stays the same because one row ends when another starts; time without active rows has no row. This is
    ``temporal_aggregate`` with a count.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> tl.depth(pa.table({"start": [1, 3, 9], "end": [5, 7, 10]})).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'start': 1, 'end': 3, 'depth': 1}, {'start': 3, 'end': 5, 'depth': 2}, {'start': 5, 'end': 7, 'depth': 1},
     {'start': 9, 'end': 10, 'depth': 1}]
    """
    from timeloom.engines.frames import family_of

    engine = importlib.import_module(f"timeloom.engines.{family_of({'input': df})}.depth")
    return engine.depth(df, column_names("by", by), Period.of(period), Policy(on_invalid, empty), name)
