"""Events from topics of Kafka, whose values are JSON objects."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.pipeline.engines.packages import named_packages
from timeloom.pipeline.streams.models import KAFKA, KAFKA_COLUMNS, StreamSource


def kafka_rows(spark: SparkSession, source: StreamSource) -> DataFrame:
    """The events of a Kafka source; an error names the package to add where its classes are not on the path."""
    with named_packages(_topics(source), KAFKA, "", spark.version):
        frame = spark.readStream.format(KAFKA).options(**source.options).load()
    return selected(parsed(frame, source), source)


def _topics(source: StreamSource) -> str:
    """What messages call a source: its topics."""
    ways = ("subscribe", "subscribePattern", "assign")
    return next((str(source.options[way]) for way in ways if way in source.options), KAFKA)


def parsed(frame: DataFrame, source: StreamSource) -> DataFrame:
    """Kafka's rows with the fields of their values; a value that cannot be read has nulls, and is refused later."""
    if source.columns is None:
        return frame
    names = ((name.replace("`", "``"), kind) for name, kind in source.columns.items())
    schema = ", ".join(f"`{name}` {kind}" for name, kind in names)
    value = F.from_json(F.col("value").cast(T.StringType()), schema)
    own = [F.col(name) for name in KAFKA_COLUMNS if name in frame.columns and name not in source.columns]
    fields = [value.getField(name).alias(name) for name in source.columns]
    return frame.select(*fields, *(own if source.select is not None else []))


def selected(frame: DataFrame, source: StreamSource) -> DataFrame:
    """The columns that a source asks for, by expressions of SQL; or all."""
    if source.select is None:
        return frame
    return frame.select(*(F.expr(text).alias(name) for name, text in source.select.items()))
