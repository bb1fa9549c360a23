"""The skip-join in Spark tasks finds the pairs that it finds on local tables."""

from datetime import UTC, date, datetime

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


def test_a_forest_is_the_broadcast_side_of_a_join(spark):
    many = pa.table({"start": [3 * row for row in range(300)], "end": [3 * row + 5 for row in range(300)]})
    many = many.append_column("i", pa.array(range(300)))
    windows = tl.StabForest.build([10, 400, 401], [20, 402, 700])
    windows.append(800)
    expected = tl.join(many, windows, columns=["i", "id"])
    frame = spark.createDataFrame(many).repartition(3)
    assert tl.explain(tl.join, frame, windows)["strategy"] == "broadcast"
    found = tl.join(frame, windows, columns=["i", "id"])
    assert sorted(map(tuple, found.collect())) == sorted(zip(*expected.to_pydict().values(), strict=True))
    assert max(expected["id"].to_pylist()) == 3


def test_a_forest_keeps_its_axis_beside_a_dataframe(spark):
    noon = datetime(2024, 5, 1, 12)
    frames = {
        "date": spark.createDataFrame([(date(2024, 5, 1), date(2024, 5, 2))], "start date, end date"),
        "naive": spark.createDataFrame([(noon, None)], "start timestamp_ntz, end timestamp_ntz"),
        "zoned": spark.createDataFrame([(noon, None)], "start timestamp, end timestamp"),
    }
    forests = {
        "date": tl.StabForest.build([date(2024, 4, 1)], [None]),
        "naive": tl.StabForest.build([datetime(2024, 4, 1)], [None]),
        "zoned": tl.StabForest.build([datetime(2024, 4, 1, tzinfo=UTC)], [None]),
    }
    for name, frame in frames.items():
        assert tl.join(frame, forests[name], columns=["id"]).count() == 1
        for other, forest in forests.items():
            if other != name:
                with pytest.raises(tl.InvalidInputError, match="do not share a time axis"):
                    tl.join(frame, forest)
