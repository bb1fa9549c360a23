"""The session of benchmarks on Spark, and how they run a plan. It does not import Timeloom: that is timed, too."""

import os
import sys
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession


def session(folder: str) -> SparkSession:
    """A session of two cores whose shuffles suit the peers: few partitions."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(frame: DataFrame) -> Callable[[], None]:
    """Compute every row of a result and throw it away."""
    return lambda: frame.write.format("noop").mode("overwrite").save()
