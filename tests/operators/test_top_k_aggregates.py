"""The k rows with the highest aggregate of their partners, of all and of each group, for columns of any type."""

from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods

VALUES = {
    pa.int64(): [0, 1, -(2**63), 2**63 - 1],
    pa.float64(): [0.0, -0.0, 1.5, float("nan"), float("-inf")],
    pa.decimal128(38, 2): [Decimal("0.01"), Decimal(-3), Decimal("9" * 36)],
    pa.duration("us"): [timedelta(0), timedelta(days=-9)],
    pa.string(): ["", "a", "b"],
}


def level(value: object) -> tuple:
    """Nulls lowest, not-a-number highest, equal numbers level."""
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


@given(st.data(), periods(max_size=6), periods(max_size=6), st.integers(0, 4), st.booleans(), st.booleans())
def test_rows_are_ranked_by_an_aggregate(data, left, right, k, all_ties, grouped):
    kind = data.draw(st.sampled_from(list(VALUES)))
    values = data.draw(st.lists(st.sampled_from([*VALUES[kind], None]), min_size=len(right), max_size=len(right)))
    lefts, rights = (
        pa.table(
            {
                "start": pa.array([start for start, _ in rows], pa.int64()),
                "end": pa.array([end for _, end in rows], pa.int64()),
                **more,
            }
        )
        for rows, more in (
            (
                left,
                {"row": pa.array(range(len(left)), pa.int64()), "group": pa.array([r % 2 for r in range(len(left))])},
            ),
            (right, {"value": pa.array(values, kind)}),
        )
    )
    aggregates = {"top": ("value", "max"), "n": ("value", "count_distinct")}
    counted = tl.count_join(lefts, rights, aggregates=aggregates).to_pylist()
    found = tl.top_k(
        lefts,
        rights,
        k,
        aggregates=aggregates,
        highest="top",
        by="group" if grouped else None,
        ties="all" if all_ties else "first",
    )
    expected = []
    for group in (0, 1) if grouped else (None,):
        mine = [row for row in counted if group is None or row["group"] == group]
        ranked = sorted(mine, key=lambda row: level(row["top"]), reverse=True)
        kept = ranked[:k]
        if all_ties and kept:
            kept = [row for row in ranked if level(row["top"]) >= level(kept[-1]["top"])]
        expected += kept
    assert repr(found.to_pylist()) == repr(expected)


def test_a_column_that_is_not_there_is_refused():
    rows = pa.table({"start": [0], "end": [1]})
    with pytest.raises(tl.UsageError, match="highest='totl' is no column to rank by. Did you mean 'total'"):
        tl.top_k(rows, rows, 1, aggregates={"total": ("start", "sum")}, highest="totl")
