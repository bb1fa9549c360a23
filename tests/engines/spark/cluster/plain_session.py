"""A first script, as somebody writes it who knows of no settings; run in a process of its own."""

import pyarrow as pa
from pyspark.sql import SparkSession

import timeloom as tl


def main():
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    shifts = spark.createDataFrame(pa.table({"start": [1, 5], "end": [4, 9]}))
    print([tuple(row) for row in tl.depth(shifts).orderBy("start").collect()])
    spark.stop()


if __name__ == "__main__":
    main()
