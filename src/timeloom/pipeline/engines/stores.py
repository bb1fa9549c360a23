"""Writing to stores on Spark: what is not on Spark's path is refused by name, with the package to add."""

from contextlib import AbstractContextManager

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from timeloom.errors import StorageError, TimeloomError, UsageError
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.packages import is_missing, named_packages, with_driver
from timeloom.pipeline.engines.replacing import Replacement, recover_replaced
from timeloom.pipeline.engines.session import spark_errors
from timeloom.pipeline.engines.spark_sources import spark_form
from timeloom.pipeline.formats.registry import FORMATS

BATCH = "batch"
"""The column, and so the directories, by which batches of files are told apart."""


def require_classes(spark: SparkSession, store: Store) -> None:
    """Refuse a store whose classes Spark does not have, before anything runs; that it is not there yet is no fault."""
    recover_replaced(store)
    if store.format in FORMATS or store.format == "table":
        return
    reader = spark.read.format(store.format)
    if store.format == "jdbc":
        reader = reader.options(**_given(store)).option("dbtable", store.into)
    with _named(spark, store):
        try:
            _ = reader.load().schema
        except Exception as error:
            if is_missing(error):
                raise


def deliver(spark: SparkSession, frame: DataFrame, store: Store, place: str, rows: int) -> None:
    """Write a settled frame by the store's own commit, and count what is there."""
    with _named(spark, store), spark_errors(f"{store.place!r} cannot be written"):
        if store.format == "jdbc":
            # One task is one transaction: its rows are all there, or none of them.
            writer = frame.coalesce(1).write.format("jdbc").options(**{"truncate": "true", **_given(store)})
            writer.option("dbtable", store.into).mode(_mode(store)).save()
            found = spark.read.format("jdbc").options(**_given(store)).option("dbtable", store.into).load()
        elif store.into is not None:
            writer = frame.write if store.format == "table" else frame.write.format(store.format)
            chosen = writer.options(**store.options).partitionBy(*store.partition_by).mode(_mode(store))
            chosen.saveAsTable(store.into)
            found = spark.table(store.into)
        elif store.holds_files and store.mode == "overwrite":
            _replace(spark, frame, store, Replacement(place), rows)
            return
        else:
            found = _saved(spark, frame, store, place)
        _require_rows(store, found, rows)


def _require_rows(store: Store, found: DataFrame, rows: int) -> None:
    counted = found.count()
    if (store.mode != "append" or store.holds_files) and counted != rows:
        raise StorageError(f"{store.place!r} was to get {rows:,} rows, and {counted:,} can be read back from it")


def _replace(spark: SparkSession, frame: DataFrame, store: Store, change: Replacement, rows: int) -> None:
    """Write aside and count; then all rows take their place at once."""
    change.recover()
    try:
        _require_rows(store, _saved(spark, frame, store, change.new_address), rows)
        change.take_place()
    except (TimeloomError, PySparkException):
        change.recover()
        raise


def _saved(spark: SparkSession, frame: DataFrame, store: Store, place: str) -> DataFrame:
    """Write to a path, and read back what is there.

    A batch of files is a partition, of which Spark writes all files elsewhere and then renames the directory.
    """
    name, layout = store.format, {}
    if store.format in FORMATS:
        form = spark_form(store.format)
        name, layout = form.name, {**form.layout, **form.writing}
    writer, reader = frame.write, spark.read.format(name).options(**layout, **store.options)
    if store.batch is None:
        writer = writer.format(name).options(**layout, **store.options).partitionBy(*store.partition_by)
        writer.mode(_mode(store)).save(place)
        return reader.load(place)
    if BATCH in frame.columns:
        raise UsageError(
            f"the rows for {store.place!r} have a column {BATCH!r}, and batches are told by one; rename it"
        )
    writer = frame.withColumn(BATCH, lit(store.batch)).write.format(name).options(**layout, **store.options)
    writer.option("partitionOverwriteMode", "dynamic").partitionBy(BATCH).mode("overwrite").save(place)
    try:
        return reader.load(f"{place.rstrip('/')}/{BATCH}={store.batch}")
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        return frame.limit(0)  # a batch without rows has no directory


def _mode(store: Store) -> str:
    return "errorifexists" if store.mode == "error" else store.mode


def _given(store: Store) -> dict[str, str]:
    return with_driver(store.url or "", {name: str(value) for name, value in store.options.items()})


def _named(spark: SparkSession, store: Store) -> AbstractContextManager[None]:
    return named_packages(store.place, store.format, store.url or store.path or "", spark.version)
