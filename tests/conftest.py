"""One Spark session for the whole run, made when a test first asks for it."""

import os
import sys

import pytest

from stream_files import ROCKSDB

collect_ignore = ["engines/spark/cluster/other_datasets.py"]
"""Only a pipeline of Spark can import the file of its datasets."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A small local session: several partitions, so that boundaries between them are crossed."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "5")
        .config("spark.default.parallelism", "3")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        # Plans of tests run once: what the JVM's second compiler and its other threads would do never pays.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.sql.session.timeZone", "America/New_York")  # a zone with gaps, so that no result depends on it
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def session(spark):
    """A session of its own for streams, whose state lies in RocksDB."""
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    fresh.conf.set("spark.sql.shuffle.partitions", "2")
    return fresh


@pytest.fixture
def static(spark):
    """Plans that are not changed while they run."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.set("spark.sql.adaptive.enabled", "true")


@pytest.fixture
def searched(monkeypatch):
    """Broadcast joins that are searched in SQL, though no side is large."""
    monkeypatch.setattr("timeloom.engines.spark.matching.index_probe.LARGE_BYTES", 0)
    monkeypatch.setattr("timeloom.engines.spark.matching.index_probe.TIMES_LARGER", 0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whatever asks for the session is a test on Spark, said or not."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def changed(spark):
    """Settings of the session that hold for one test."""
    before = {}

    def change(settings):
        before.update({name: spark.conf.get(name) for name in settings})
        for name, value in settings.items():
            spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)
