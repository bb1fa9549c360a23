"""A Spark session of its own for streams, whose state lies in RocksDB."""

import pytest

from stream_files import ROCKSDB


@pytest.fixture
def session(spark):
    fresh = spark.newSession()
    fresh.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    fresh.conf.set("spark.sql.shuffle.partitions", "2")
    return fresh
