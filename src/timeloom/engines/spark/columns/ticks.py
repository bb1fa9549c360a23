"""Period columns of a DataFrame as int64 ticks: SQL expressions that never overflow and ignore the session's zone.

Expressions are kept as text: a text is one call to Spark, where a tree of column objects is dozens. They are short, as
the first texts that a session reads take long.
"""

from dataclasses import dataclass

from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.tables.ticks import PeriodTicks, read_period
from timeloom.errors import UsageError
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis

_DAY = 86_400_000_000


@dataclass(frozen=True)
class PeriodColumns:
    """The period of each row as half-open ticks, in SQL. A null start stays null; an open end is FOREVER.

    ``raw_start`` and ``raw_end`` are the ticks as they were written, before ``closed`` shifts them; an open end may be
    null there. ``kind`` is an empty sample of the period that knows its types and how to write them.
    """

    start: str
    end: str
    raw_start: str
    raw_end: str
    kind: PeriodTicks


def period_columns(names: dict[str, str], schema: T.StructType, period: Period, side: str) -> PeriodColumns:
    """Read the period of a DataFrame; ``names`` says under which name each of the schema's columns stands now.

    Types are judged by the local engine on a table without rows, so a bad period gives the same words everywhere.
    """
    if period.form != "plain":
        raise UsageError(
            f"form={period.form!r} is for local tables; on Spark take {period.start!r} apart into two columns first"
        )
    fields = T.StructType([schema[name] for name in period.columns])
    kind = read_period(to_arrow_schema(fields).empty_table(), period, side)
    axis = kind.type.axis
    raw_start, raw_end = (
        names[name] if isinstance(schema[name].dataType, T.LongType) else column_ticks(names[name], axis)
        for name in (period.start, period.end)
    )

    def closed(end: str) -> str:
        """An end, or FOREVER: Spark sees that it is not null, and compiles less of whatever compares it."""
        if not kind.sentinels:
            return f"coalesce({end}, {literal(FOREVER)})"
        is_open = f"{raw_end} IN ({', '.join(map(literal, kind.sentinels))})"
        return f"CASE WHEN {names[period.end]} IS NULL OR {is_open} THEN {literal(FOREVER)} ELSE {end} END"

    return PeriodColumns(
        start=shifted(raw_start, period.start_shift),
        end=closed(shifted(raw_end, period.end_shift)),
        raw_start=raw_start,
        raw_end=closed(raw_end) if kind.sentinels else raw_end,
        kind=kind,
    )


def column_ticks(column: str, axis: Axis) -> str:
    """A time column as ticks; null where it is null.

    A timestamp without zone is taken apart into its fields: a cast would go through the session's zone, in which an
    hour may be missing or come twice. Its days are added in two halves: the first day begins before the first tick.
    """
    if axis is Axis.INTEGER:
        return f"CAST({column} AS BIGINT)"
    if axis is Axis.DATE:
        return f"CAST(unix_date({column}) AS BIGINT)"
    if axis is Axis.ZONED:
        return f"unix_micros({column})"
    days = f"CAST(unix_date(CAST({column} AS DATE)) AS BIGINT)"
    seconds = f"CAST(hour({column}) * 3600 + minute({column}) * 60 AS BIGINT)"
    micros = f"CAST(extract(SECOND FROM {column}) * 1000000 AS BIGINT)"
    half = f"{days} * {_DAY // 2}L"
    return f"({half} + ({half} + {seconds} * 1000000L + {micros}))"


def tick_written(tick: str, axis: Axis, column_type: str) -> str:
    """A tick that fits as a value of a column's type; null where it is null. The inverse of `column_ticks`.

    A timestamp without zone is the first instant and an interval, whose sum no zone of the session touches.
    """
    if axis is Axis.INTEGER:
        return f"CAST({tick} AS {column_type})"
    if axis is Axis.DATE:
        return f"date_from_unix_date(CAST({tick} AS INT))"
    if axis is Axis.ZONED:
        return f"timestamp_micros({tick})"
    days, rest = f"CAST({tick} div {_DAY}L AS INT)", f"CAST({tick} % {_DAY}L AS DECIMAL(12, 0))"
    seconds = f"CAST({rest} * 0.000001BD AS DECIMAL(18, 6))"
    return f"(TIMESTAMP_NTZ'1970-01-01' + make_dt_interval({days}, 0, 0, {seconds}))"


def shifted(ticks: str, by: int) -> str:
    """Add a constant and saturate; a sum that overflows is an error in Spark."""
    if by == 0:
        return ticks
    limit, stop = (f"> {literal(MAX_TICK - by)}", MAX_TICK) if by > 0 else (f"< {literal(MIN_TICK - by)}", MIN_TICK)
    return f"CASE WHEN {ticks} {limit} THEN {literal(stop)} ELSE {ticks} + {literal(by)} END"


def literal(tick: int) -> str:
    """A tick in SQL, where the lowest one cannot be written."""
    return f"({MIN_TICK + 1}L - 1L)" if tick == MIN_TICK else f"{tick}L"
