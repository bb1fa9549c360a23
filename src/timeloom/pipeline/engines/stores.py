"""Writing to stores on Spark: what is not on Spark's path is refused by name, with the package to add."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from timeloom.errors import StorageError, UsageError
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.session import spark_errors
from timeloom.pipeline.engines.spark_sources import spark_form
from timeloom.pipeline.formats.registry import FORMATS

PACKAGES = {
    "delta": "io.delta:delta-spark_2.13",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13",
    "hudi": "org.apache.hudi:hudi-spark4.0-bundle_2.13",
    "avro": "org.apache.spark:spark-avro_2.13",
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13",
    "mongodb": "org.mongodb.spark:mongo-spark-connector_2.13",
}
"""Where the classes of a format are."""

DRIVERS = {
    "postgresql": ("org.postgresql:postgresql", "org.postgresql.Driver"),
    "mysql": ("com.mysql:mysql-connector-j", "com.mysql.cj.jdbc.Driver"),
    "mariadb": ("org.mariadb.jdbc:mariadb-java-client", "org.mariadb.jdbc.Driver"),
    "sqlserver": ("com.microsoft.sqlserver:mssql-jdbc", "com.microsoft.sqlserver.jdbc.SQLServerDriver"),
    "oracle": ("com.oracle.database.jdbc:ojdbc11", "oracle.jdbc.OracleDriver"),
    "sqlite": ("org.xerial:sqlite-jdbc", "org.sqlite.JDBC"),
    "duckdb": ("org.duckdb:duckdb_jdbc", "org.duckdb.DuckDBDriver"),
}
"""The package and the class of a database's driver, by what stands after ``jdbc:``."""

_SCHEMES = {"s3a": "org.apache.hadoop:hadoop-aws", "abfss": "org.apache.hadoop:hadoop-azure"}
_MISSING = ("DATA_SOURCE_NOT_FOUND", "No suitable driver", "ClassNotFoundException", "No FileSystem for scheme")


def require_classes(spark: SparkSession, store: Store) -> None:
    """Refuse a store whose classes Spark does not have, before anything runs; that it is not there yet is no fault."""
    if store.format in FORMATS or store.format == "table":
        return
    reader = spark.read.format(store.format)
    if store.format == "jdbc":
        reader = reader.options(**_given(store)).option("dbtable", store.into)
    with named_packages(store):
        try:
            _ = reader.load().schema
        except Exception as error:
            if any(word in str(error) for word in _MISSING):
                raise


def deliver(spark: SparkSession, frame: DataFrame, store: Store, place: str, rows: int) -> None:
    """Write a settled frame by the store's own commit, and count what is there."""
    with named_packages(store), spark_errors(f"{store.place!r} cannot be written"):
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
    options = {name: str(value) for name, value in store.options.items()}
    return {"url": store.url or "", **_driver(store.url or ""), **options}


def _driver(url: str) -> dict[str, str]:
    """The class of a driver: Java finds those of jars that came later only by their names."""
    kind = re.match(r"jdbc:(\w+)", url)
    return {"driver": DRIVERS[kind[1]][1]} if kind and kind[1] in DRIVERS else {}


@contextmanager
def named_packages(store: Store) -> Iterator[None]:
    """Tell which package is missing, if one is."""
    try:
        yield
    except Exception as error:
        said = str(error)
        if not any(word in said for word in _MISSING):
            raise
        raise UsageError(f"{store.place!r}: {_missing(store)}") from error


def _missing(store: Store) -> str:
    how = "spark: {conf: {spark.jars.packages: '%s:VERSION'}}, or spark.jars with the path of a jar"
    if store.format == "jdbc":
        kind = re.match(r"jdbc:(\w+)", store.url or "")
        package = DRIVERS.get(kind[1] if kind else "", ("GROUP:DRIVER", ""))[0]
        return f"the driver of its database is not on Spark's path; add it with {how % package}"
    scheme = (store.path or "").partition("://")[0]
    package = _SCHEMES.get(scheme, PACKAGES.get(store.format, "GROUP:PACKAGE"))
    return f"the classes of {store.format} are not on Spark's path; add them with {how % package}"
