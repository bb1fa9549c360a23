"""The skip-join in Spark tasks finds the pairs that it finds on local tables."""

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("strategy", ["broadcast", "slices"])
def test_the_same_pairs_as_locally(spark, strategy):
    many = pa.table({"start": [3 * row for row in range(300)], "end": [3 * row + 5 for row in range(300)]})
    many = many.append_column("i", pa.array(range(300)))
    few = pa.table({"start": [10, 400, 401], "end": [20, 402, 700], "j": [0, 1, 2]})
    expected = tl.join(many, few, columns=["i", "j"]).to_pylist()
    frames = spark.createDataFrame(many).repartition(3), spark.createDataFrame(few)
    found = tl.join(*frames, columns=["i", "j"], algorithm="skip", strategy=strategy)
    assert sorted(map(tuple, found.collect())) == sorted((row["i"], row["j"]) for row in expected)
