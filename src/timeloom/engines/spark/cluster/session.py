"""What a session's settings say about its size. Settings are read, never written."""

import re

from pyspark.sql import SparkSession


def shuffle_partitions(spark: SparkSession) -> int:
    """The number of partitions that Spark itself would shuffle into."""
    return max(1, int(spark.conf.get("spark.sql.shuffle.partitions", "200") or 200))


def cores(spark: SparkSession) -> int:
    """How many tasks can run at once, as far as the settings tell."""
    master = spark.conf.get("spark.master", "") or ""
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master)
    if local and local.group(1) != "*":
        return int(local.group(1) or 1)
    if local:
        return _local_cores()
    each = int(spark.conf.get("spark.executor.cores", "1") or 1)
    return max(2, each * int(spark.conf.get("spark.executor.instances", "2") or 2))


def _local_cores() -> int:
    from timeloom.engines.resources.threads import cores

    return cores()
