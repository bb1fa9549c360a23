"""Period columns of a DataFrame as int64 ticks: expressions that never overflow and ignore the session's zone."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from timeloom.engines.ticks import PeriodTicks, read_period
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis

_DAY = 86_400_000_000


@dataclass(frozen=True)
class PeriodColumns:
    """The period of each row as half-open ticks. A null start stays null; an open end is FOREVER.

    ``raw_start`` and ``raw_end`` are the ticks as they were written, before ``closed`` shifts them. ``kind`` is an
    empty sample of the period that knows its types and how to write them.
    """

    start: Column
    end: Column
    raw_start: Column
    raw_end: Column
    kind: PeriodTicks


def period_columns(names: dict[str, str], schema: T.StructType, period: Period, side: str) -> PeriodColumns:
    """Read the period of a DataFrame; ``names`` says under which name each of the schema's columns stands now.

    Types are judged by the local engine on a table without rows, so a bad period gives the same words everywhere.
    """
    fields = T.StructType([schema[period.start], schema[period.end]])
    kind = read_period(to_arrow_schema(fields, timezone="UTC").empty_table(), period, side)
    start, end = F.col(names[period.start]), F.col(names[period.end])
    raw_start, raw_end = column_ticks(start, kind.type.axis), column_ticks(end, kind.type.axis)
    sentinels = [kind.end_type.ticks_of(value, "open_end") for value in period.sentinels]
    is_open = reduce(lambda found, tick: found | (raw_end == F.lit(tick)), sentinels, end.isNull())
    return PeriodColumns(
        start=shifted(raw_start, period.start_shift),
        end=F.when(is_open, F.lit(FOREVER)).otherwise(shifted(raw_end, period.end_shift)),
        raw_start=raw_start,
        raw_end=F.when(is_open, F.lit(FOREVER)).otherwise(raw_end),
        kind=kind,
    )


def column_ticks(column: Column, axis: Axis) -> Column:
    """A time column as ticks; null where it is null.

    A timestamp without zone is taken apart into its fields: a cast would go through the session's zone, in which an
    hour may be missing or come twice.
    """
    if axis is Axis.INTEGER:
        return column.cast("long")
    if axis is Axis.DATE:
        return F.unix_date(column).cast("long")
    if axis is Axis.ZONED:
        return F.unix_micros(column)
    seconds = F.hour(column) * F.lit(3600) + F.minute(column) * F.lit(60)
    micros = (F.extract(F.lit("SECOND"), column) * F.lit(1_000_000)).cast("long")
    days = F.unix_date(column.cast("date")).cast("long")
    return days * F.lit(_DAY) + seconds.cast("long") * F.lit(1_000_000) + micros


def shifted(ticks: Column, by: int) -> Column:
    """Add a constant and saturate; sums must not overflow, which is an error in Spark."""
    if by == 0:
        return ticks
    if by > 0:
        return F.when(ticks > F.lit(MAX_TICK - by), F.lit(MAX_TICK)).otherwise(ticks + F.lit(by))
    return F.when(ticks < F.lit(MIN_TICK - by), F.lit(MIN_TICK)).otherwise(ticks + F.lit(by))
