"""What Spark may have to be given: the packages of formats, of databases' drivers and of object stores.

Whatever is not on Spark's path is refused in the same words, with the package to add.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from timeloom.errors import UsageError

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

SCHEMES = {"s3a": "org.apache.hadoop:hadoop-aws", "abfss": "org.apache.hadoop:hadoop-azure"}
"""Where the classes of an object store are, by what its addresses begin with."""

_MISSING = (
    "DATA_SOURCE_NOT_FOUND",
    "Failed to find data source",
    "No suitable driver",
    "ClassNotFoundException",
    "No FileSystem for scheme",
)


def is_missing(error: Exception) -> bool:
    """Whether Spark says that it does not have some classes."""
    return any(words in str(error) for words in _MISSING)


@contextmanager
def named_packages(place: str, form: str, address: str, version: str) -> Iterator[None]:
    """Tell which package is missing, if one is.

    Parameters
    ----------
    place
        What messages call the source or sink.
    form
        Its format, in Spark's words.
    address
        Its path, or the url of a database.
    version
        That of Spark, which Spark's own packages share.
    """
    try:
        yield
    except Exception as error:
        if not is_missing(error):
            raise
        raise UsageError(f"{place!r}: {_advice(form, address, version)}") from error


def with_driver(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a database with the class of its driver: Java finds those of later jars only by their names."""
    driver = DRIVERS.get(_database(url))
    return {"url": url, **({} if driver is None else {"driver": driver[1]}), **options}


def _advice(form: str, address: str, version: str) -> str:
    if form == "jdbc":
        package = DRIVERS.get(_database(address), ("GROUP:DRIVER", ""))[0]
        return f"the driver of its database is not on Spark's path; add it with {_way(package, version)}"
    package = SCHEMES.get(address.partition("://")[0], PACKAGES.get(form, "GROUP:PACKAGE"))
    return f"the classes of {form} are not on Spark's path; add them with {_way(package, version)}"


def _way(package: str, version: str) -> str:
    exact = version if package.startswith("org.apache.spark:") else "VERSION"
    return f"spark: {{conf: {{spark.jars.packages: '{package}:{exact}'}}}}, or spark.jars with the path of a jar"


def _database(url: str) -> str:
    kind = re.match(r"jdbc:(\w+)", url)
    return kind[1] if kind else ""
