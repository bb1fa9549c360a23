"""Writing to stores on Spark: what is not on Spark's path is refused by name, with the package to add."""

from contextlib import AbstractContextManager

from pyspark.sql import DataFrame, SparkSession

from timeloom.errors import StorageError
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.packages import is_missing, named_packages, with_driver
from timeloom.pipeline.engines.session import spark_errors
from timeloom.pipeline.engines.spark_sources import spark_form
from timeloom.pipeline.formats.registry import FORMATS


def require_classes(spark: SparkSession, store: Store) -> None:
    """Refuse a store whose classes Spark does not have, before anything runs; that it is not there yet is no fault."""
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
        else:
            name, layout = store.format, {}
            if store.format in FORMATS:
                form = spark_form(store.format)
                name, layout = form.name, {**form.layout, **form.writing}
            writer = frame.write.format(name).options(**layout, **store.options)
            writer.partitionBy(*store.partition_by).mode(_mode(store)).save(place)
            found = spark.read.format(name).options(**layout, **store.options).load(place)
        counted = found.count()
    if store.mode != "append" and counted != rows:
        raise StorageError(f"{store.place!r} was to get {rows:,} rows, and {counted:,} can be read back from it")


def _mode(store: Store) -> str:
    return "errorifexists" if store.mode == "error" else store.mode


def _given(store: Store) -> dict[str, str]:
    return with_driver(store.url or "", {name: str(value) for name, value in store.options.items()})


def _named(spark: SparkSession, store: Store) -> AbstractContextManager[None]:
    return named_packages(store.place, store.format, store.url or store.path or "", spark.version)
