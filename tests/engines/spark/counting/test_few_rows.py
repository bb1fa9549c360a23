"""Counts for few left rows: these go to the tasks that read the right side, which is not shuffled."""

import pyarrow as pa
import pytest

import timeloom as tl
from rows import assert_same, table
from timeloom.engines.spark.cluster.strategy import FEW_BYTES, choose_strategy

pytestmark = pytest.mark.spark

MANY = 1_000_000
"""So many rows of a range are known to have more bytes than Spark would broadcast."""

FEW = table([(0, 9), (0, 9), (500, 70_000), (3, 8), (5, 6)], k=pa.array([1, 1, 2, None, 9], pa.int64()))
AGGREGATES = {"total": ("v", "sum"), "mean": ("v", "avg"), "least": ("v", "min")}


@pytest.fixture(scope="module")
def many(spark):
    columns = ("id % 4 AS k", "id * 50 AS start", "id * 50 + 7 AS end", "CAST(id % 11 AS DOUBLE) / 10 AS v")
    return spark.range(0, MANY, 1, 3).selectExpr(*columns)


@pytest.fixture(scope="module")
def local(many):
    return many.toArrow()


@pytest.mark.parametrize("on", [None, "k"])
@pytest.mark.parametrize("relation", ["intersects", "before"])
def test_counts_are_those_of_local_tables(spark, many, local, relation, on):
    few = spark.createDataFrame(FEW)
    call = {"relation": relation, "on": on, "aggregates": AGGREGATES}
    assert_same(tl.count_join(few, many, **call), tl.count_join(FEW, local, **call), types=True)
    told = tl.explain(tl.count_join, few, many, relation, on=on)
    assert (told["strategy"], told["broadcast side"], told["partitions"]) == (
        "broadcast",
        "left",
        "those of the right side",
    )
    assert "added up" in str(told)


def test_the_highest_counts_and_invalid_rows(spark, many, local):
    spoilt = pa.concat_tables([FEW, table([(None, 4), (9, 3)], k=pa.array([1, 2], pa.int64()))])
    few = spark.createDataFrame(spoilt)
    assert_same(tl.top_k(few, many, 2, on_invalid="drop"), tl.top_k(FEW, local, 2))
    found = tl.count_join(few, many, on_invalid="quarantine")
    assert_same(found.result, tl.count_join(FEW, local))
    assert found.rejected.count() == 2
    with pytest.raises(Exception, match="rows of the left table have no usable period"):
        tl.count_join(few, many).collect()


def test_left_rows_are_few_if_they_are_known_to_be():
    def chosen(left, right, **options):
        options = {"keyed": False, "decided": ("left",), "threshold": 10 << 20, "adds_up": True} | options
        found = choose_strategy("auto", sizes={"left": left, "right": right}, **options)
        return found.name, found.small

    assert chosen(FEW_BYTES, 32 * FEW_BYTES) == chosen(5, None) == ("broadcast", "left")
    assert chosen(FEW_BYTES, 32 * FEW_BYTES - 1) == chosen(FEW_BYTES + 1, None) == chosen(None, None) == ("slices", "")
    assert chosen(5, 11 << 20, threshold=-1) == chosen(5, 11 << 20, adds_up=False) == ("slices", "")
    assert chosen(5, 6) == ("broadcast", "right")
