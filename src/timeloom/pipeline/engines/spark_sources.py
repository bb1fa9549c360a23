"""Sources on Spark: reading them, and telling fit rows from unfit ones by expressions."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.tables.verdicts import reason_texts
from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.policy import Policy
from timeloom.pipeline.definition.models import Source
from timeloom.pipeline.definition.paths import address_of
from timeloom.pipeline.engines.packages import named_packages, with_driver
from timeloom.pipeline.formats.record import SparkForm
from timeloom.pipeline.formats.registry import FORMATS
from timeloom.pipeline.tables.parsing import check_type, holds_texts

MISFIT, GAP, JUDGEMENT = "timeloom misfit", "timeloom gap", "timeloom judgement"
"""Columns that carry reasons: a value that does not parse, a value that is missing, and what speaks against a row."""


def read_source(spark: SparkSession, source: Source, place: str) -> DataFrame:
    """Open a source as it is; text with a declared schema stays text."""
    if source.format == "table":
        return spark.table(source.table or "")
    if source.format == "jdbc":
        reader = spark.read.format(source.format).options(**with_driver(source.url or "", source.options))
        with named_packages(source.table or "", source.format, source.url or "", spark.version):
            return reader.option("dbtable", source.table).load()
    known = FORMATS[source.format]
    form = spark_form(source.format)
    if form.whole_files:
        _require_arrays(spark, place)
    reader = spark.read.format(form.name).options(**form.layout)
    if known.texts != "none":
        reader = reader.options(mode="FAILFAST")
    if known.texts == "all":
        reader = reader.options(inferSchema="false" if source.columns is not None else "true")
    frame = reader.options(**source.options).load(address_of(place))
    if known.texts == "some" and source.columns is not None and not frame.columns:
        # Objects tell the columns, and there are none.
        return frame.select(*(F.lit(None).cast("string").alias(column) for column in source.columns))
    return frame


def spark_form(name: str) -> SparkForm:
    """A format in Spark's words; those that Spark does not have were refused when the pipeline was read."""
    form = FORMATS[name].spark
    if form is None:
        raise UsageError(f"Spark has no {FORMATS[name].title} files; take parquet, or engine: local")
    return form


def _require_arrays(spark: SparkSession, place: str) -> None:
    """Refuse files that are no arrays: of lines with an object each, Spark would read the first and say nothing."""
    texts = spark.read.text(address_of(place), wholetext=True).select("value", "_metadata.file_path")
    strange = texts.where(~F.col("value").rlike(r"^\s*\[")).select("file_path").head()
    if strange is not None:
        raise InvalidInputError(
            f"{strange[0]} holds no JSON array; if it has an object in each line, take format: json"
        )


def flag(name: str, source: Source, raw: DataFrame, found: dict[str, str]) -> tuple[DataFrame, str]:
    """Give each row the first reason that speaks against it, or null.

    The rows have the columns ``fit 0``, ``fit 1``, … in their declared types, ``raw 0``, ``raw 1``, … as they were
    read, and the reason, whose column's name comes along.
    """
    reasons: list[Column] = []
    typed = {column: quoted(column) for column in found}
    for column, kind in (source.columns or {}).items():
        typed[column], fault = _typed(name, source, column, kind, found[column])
        if fault is not None:
            reasons.append(F.when(fault, F.lit(f"{column} is no {kind}")))
    gaps = [F.when(typed[column].isNull(), F.lit(f"{column} is null")) for column in source.never_null]
    kept = {column: typed[column] for column in source.columns or found}
    rows = raw.select(
        *(value.alias(column) for column, value in kept.items()),
        *(quoted(column).alias(f"raw {number}") for number, column in enumerate(found)),
        F.coalesce(*reasons, F.lit(None).cast("string")).alias(MISFIT),
        F.coalesce(*gaps, F.lit(None).cast("string")).alias(GAP),
    )
    reason = "reason"
    while reason in found:
        reason += "_"
    if source.period is None:
        return _named(rows, kept, found, F.coalesce(quoted(MISFIT), quoted(GAP)), reason), reason
    policy = Policy("quarantine", "point" if source.empty == "point" else None)
    admitted = judge_frame(rows, source.period, name, policy)
    texts = reason_texts(source.period)
    verdicts = [F.when(F.expr(f"{admitted.verdict} = {code}"), F.lit(text)) for code, text in texts.items()]
    judged = F.coalesce(F.col(admitted.names[MISFIT]), *verdicts, F.col(admitted.names[GAP]))
    renamed = admitted.all_rows.select(
        *(F.col(inner).alias(outer) for outer, inner in admitted.names.items()), judged.alias(JUDGEMENT)
    )
    return _named(renamed, kept, found, quoted(JUDGEMENT), reason), reason


def _named(rows: DataFrame, kept: dict[str, Column], found: dict[str, str], judged: Column, reason: str) -> DataFrame:
    return rows.select(
        *(quoted(column).alias(f"fit {number}") for number, column in enumerate(kept)),
        *(F.col(f"`raw {number}`") for number in range(len(found))),
        judged.alias(reason),
    )


def _typed(name: str, source: Source, column: str, kind: str, found: str) -> tuple[Column, Column | None]:
    """A column in its declared type, and where its values do not fit."""
    value = quoted(column)
    if found == kind:
        return value, None
    if holds_texts(source.format) and found == "string":
        parsed = value.try_cast(kind)
        return parsed, value.isNotNull() & parsed.isNull()
    check_type(column, kind, found, name)
    return value.cast(kind), None


def quoted(name: str) -> Column:
    """The column of this very name, whatever characters it has."""
    ticked = name.replace("`", "``")
    return F.col(f"`{ticked}`")
