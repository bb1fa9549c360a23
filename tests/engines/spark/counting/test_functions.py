"""Functions of partners, and ranks by an aggregate, on Spark: bit by bit those of local tables."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import on_spark, random_rows
from rows import assert_same

pytestmark = pytest.mark.spark


FUNCTIONS = ("first", "last", "count_distinct")


def tables() -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(7)
    start = rng.integers(0, 40, 60)
    left = pa.table({"row": np.arange(60), "start": start, "end": start + rng.integers(1, 30, 60)})
    start = rng.integers(0, 60, 50)
    whole = rng.integers(-9, 9, 50)
    right = pa.table(
        {
            "price": [None if at % 7 == 0 else float(x) * 10.0 ** (at % 30) for at, x in enumerate(whole)],
            "whole": whole,
            "exact": pa.array([Decimal(int(x)) / 8 for x in whole], pa.decimal128(20, 3)),
            "start": start,
            "end": start + rng.integers(1, 20, 50),
        }
    )
    return left, right


@pytest.mark.parametrize("strategy", ["broadcast", "slices"])
def test_variances_and_ranks_are_those_of_local_tables(spark, strategy):
    left, right = tables()
    frames = [spark.createDataFrame(table).repartition(3) for table in (left, right)]
    columns = ("price", "whole", "exact")
    aggregates = {f"{name}_{function}": (name, function) for name in columns for function in ("var", "stddev")}
    local = tl.count_join(left, right, aggregates=aggregates).sort_by("row")
    found = tl.count_join(*frames, aggregates=aggregates, strategy=strategy).toArrow().sort_by("row")
    assert found.column_names == local.column_names
    assert [repr(row) for row in found.to_pylist()] == [repr(row) for row in local.to_pylist()]
    options = {"aggregates": aggregates, "highest": "price_var", "ties": "all"}
    ranked = tl.top_k(*frames, 5, **options, strategy=strategy).toArrow().sort_by("row")
    assert repr(ranked.to_pylist()) == repr(tl.top_k(left, right, 5, **options).sort_by("row").to_pylist())


OPTIONS = [{"column": "number"}, {"column": "price", "strategy": "slices"}, {"column": "key", "on": "key"}]
OPTIONS += [{"column": "number", "on": "key", "strategy": "keys", "relation": "during"}]


@pytest.mark.parametrize("options", OPTIONS)
def test_first_last_and_distinct_values_are_those_of_local_tables(spark, options):
    """Of partners with one period, the values decide which is the first."""
    column = options["column"]
    left, right = random_rows(1).select(["start", "end", "key", "id"]), random_rows(2, rows=80)
    right = right.sort_by([(name, "ascending") for name in ("start", "end", column)])
    aggregates = {function: (column, function) for function in FUNCTIONS} | {"total": ("number", "sum")}
    call = {name: value for name, value in options.items() if name != "column"} | {"aggregates": aggregates}
    frames = on_spark(spark, left), on_spark(spark, right).repartition(3)
    assert_same(tl.count_join(*frames, **call), tl.count_join(left, right, **call), types=True)
    ranked = {"highest": "count_distinct", "ties": "all"}
    assert_same(tl.top_k(*frames, 3, **call, **ranked), tl.top_k(left, right, 3, **call, **ranked))
    assert "one task has them" in str(tl.explain(tl.count_join, *frames, **call))
