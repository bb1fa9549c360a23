"""Small tables that one task reads and takes: null keys of both sides, invalid rows and every column reach it."""

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows

HOWS = ("inner", "left", "right", "full", "semi", "anti")

CALLS = {
    **{f"{how} join": lambda a, b, how=how: tl.join(a, b, on="key", how=how) for how in HOWS},
    "keys of two columns": lambda a, b: tl.join(a, b, "before", on=["key", "number"], columns=["id", "id_right"]),
    "keys of other names": lambda a, b: tl.join(a, b, left_on="number", right_on="id", columns=["id", "cost_right"]),
    "condition": lambda a, b: tl.join(a, b, on="key", how="full", where="price < price_right"),
    "count_join": lambda a, b: tl.count_join(a, b, on="key", aggregates={"costs": ("cost", "sum")}),
    "as_of": lambda a, b: tl.as_of(a, b, at="start", on="key"),
    "inner as_of": lambda a, b: tl.as_of(a, b, at="start", on="key", how="inner"),
    "nearest": lambda a, b: tl.nearest(a, b, 2, on="key", how="left"),
    "temporal_join": lambda a, b: tl.temporal_join(a, b, on="key"),
    "full temporal_join": lambda a, b: tl.temporal_join(a, b, on="key", how="full"),
    "temporal_antijoin": lambda a, b: tl.temporal_antijoin(a, b, on="key"),
    "temporal_aggregate": lambda a, b: tl.temporal_aggregate(a, {"n": "count", "costs": ("cost", "sum")}, by="key"),
    "coalesce": lambda a, b: tl.coalesce(a, by=["key", "number"]),
    "gaps": lambda a, b: tl.gaps(a, by="key"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_rows_as_locally(name, spark):
    call, tables = CALLS[name], (random_rows(1), random_rows(2))
    assert_all_same([(name, call(*(on_spark(spark, table) for table in tables)), call(*tables))])


@pytest.mark.parametrize("call", [tl.join, tl.as_of], ids=["join", "as_of"])
def test_invalid_rows_without_a_key_are_refused_as_locally(call, spark):
    good = pa.table({"key": ["a"], "start": [1], "end": [3]})
    bad = pa.table({"key": pa.array([None, "a"], pa.string()), "start": pa.array([None, 1], pa.int64()), "end": [4, 3]})
    options = {"at": "start"} if call is tl.as_of else {}
    with pytest.raises(tl.InvalidInputError, match="start is null"):
        call(good, bad, on="key", **options)
    with pytest.raises(Exception, match="start is null"):
        call(on_spark(spark, good), on_spark(spark, bad), on="key", **options).collect()
