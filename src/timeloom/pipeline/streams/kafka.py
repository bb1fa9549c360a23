"""Events from topics of Kafka, whose values are JSON objects."""

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.errors import UsageError
from timeloom.pipeline.streams.models import KAFKA, KAFKA_COLUMNS, StreamSource

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def kafka_rows(spark: SparkSession, source: StreamSource) -> DataFrame:
    """The events of a Kafka source; an error names the package to add where its classes are not on the path."""
    try:
        frame = spark.readStream.format(KAFKA).options(**source.options).load()
    except AnalysisException as fault:
        if "kafka" not in str(fault).lower():
            raise
        raise UsageError(
            f"Spark {spark.version} has no classes for Kafka on its path; add the package "
            f"{PACKAGE}:{spark.version}, for example with spark: {{conf: {{spark.jars.packages: …}}}} in the file"
        ) from fault
    return selected(parsed(frame, source), source)


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
