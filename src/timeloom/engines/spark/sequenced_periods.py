"""How the sequenced verbs write result periods on Spark: as the left input does, in a type that holds both sides'."""

from dataclasses import replace

from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from timeloom.engines.axes import shared_type
from timeloom.engines.spark.admission import Admitted
from timeloom.engines.ticks import PeriodTicks


def period_writer(left: Admitted, right: Admitted | None = None) -> PeriodTicks:
    """Write periods like the left side: open ends as its first sentinel, if it has one, else as null."""
    kind = left.columns.kind if right is None else shared_type(left.columns.kind, right.columns.kind)
    sentinels = left.period.sentinels
    return replace(kind, open_form=sentinels[0] if sentinels else None)


def period_fields(left: Admitted, right: Admitted, names: tuple[str, str]) -> tuple[T.StructField, T.StructField]:
    """The fields of the result's period, under these names."""
    kind = period_writer(left, right)
    types = (from_arrow_type(part.arrow, prefer_timestamp_ntz=True) for part in (kind.type, kind.end_type))
    start, end = (T.StructField(name, part) for name, part in zip(names, types, strict=True))
    return start, end
