"""Variances of partners, and ranks by an aggregate, on Spark: bit by bit those of local tables; what is refused."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark


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


def test_what_needs_all_partners_at_once_is_refused(spark):
    left, right = (spark.createDataFrame(table) for table in tables())
    for function in ("first", "last", "count_distinct"):
        with pytest.raises(tl.UsageError, match=f"{function} needs all partners of a left row at once"):
            tl.count_join(left, right, aggregates={"x": ("price", function)})
