"""Every aggregate of `count_join` is that of `temporal_aggregate` over the partners of a row: values and types."""

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from reference.relations import ALLEN, RELATIONS
from rows import table
from timeloom.model.aggregates import AGGREGATES

NUMBERS = [0, 1, 3, -(2**53) - 1, 2**59]
VALUES = {
    pa.int64(): NUMBERS,
    pa.uint64(): [0, 1, 2**59 + 1],
    pa.float64(): [0.0, -0.0, 1.5, 1e300, -1e-300, float("nan"), float("inf")],
    pa.decimal128(38, 2): [Decimal("0.01"), Decimal(-3), Decimal("9" * 30)],
    pa.duration("us"): [timedelta(0), timedelta(seconds=1), timedelta(days=-9)],
    pa.string(): ["", "a", "b"],
    pa.bool_(): [True, False],
}
FAR = 1000
COUNTING = [name for name, record in AGGREGATES.items() if record.without_pairs]


def fitting(kind: pa.DataType) -> list[str]:
    tests = {
        "any": lambda _: True,
        "sortable": lambda _: True,
        "boolean": pa.types.is_boolean,
        "summable": lambda kind: not pa.types.is_string(kind),
        "numeric": lambda kind: (
            not pa.types.is_string(kind) and not pa.types.is_duration(kind) and not pa.types.is_boolean(kind)
        ),
    }
    return [name for name in COUNTING if tests[AGGREGATES[name].takes](kind)]


def valued(rows: list, kind: pa.DataType, values: list) -> pa.Table:
    keys = pa.array([at % 2 for at in range(len(rows))], pa.int64())
    return table(rows, number="id", key=keys, value=pa.array(values, kind))


@given(st.data(), periods(max_size=6), periods(max_size=8), st.sampled_from(sorted(RELATIONS)), st.booleans())
def test_aggregates_of_partners_are_those_of_temporal_aggregates(data, left, right, name, keyed):
    kind = data.draw(st.sampled_from(list(VALUES)))
    some = st.sampled_from([*VALUES[kind], None])
    values = data.draw(st.lists(some, min_size=len(right), max_size=len(right)))
    lefts, rights = valued(left, pa.int64(), [None] * len(left)), valued(right, kind, values)
    aggregates = {function: ("value", function) for function in fitting(kind)}
    found = tl.count_join(lefts, rights, name, on="key" if keyed else None, name="rows", aggregates=aggregates)
    by_start = sorted(range(len(right)), key=lambda j: right[j][0])
    partners = [
        (i, at, values[j])
        for i, row in enumerate(left)
        for at, j in enumerate(by_start)
        if RELATIONS[name](row, right[j], None, None) and (not keyed or i % 2 == j % 2)
    ]
    listed = pa.table(
        {
            "id": pa.array([i for i, _, _ in partners], pa.int64()),
            "value": pa.array([value for _, _, value in partners], kind),
            "start": pa.array([at for _, at, _ in partners], pa.int64()),
            "end": pa.array([FAR] * len(partners), pa.int64()),
        }
    )
    expected = tl.temporal_aggregate(listed, aggregates, by="id")
    last = {row["id"]: row for row in expected.to_pylist() if row["end"] == FAR}
    for row in found.to_pylist():
        for function in aggregates:
            nothing = AGGREGATES[function].over_nothing
            wanted = last[row["id"]][function] if row["id"] in last else nothing
            assert repr(row[function]) == repr(wanted), function
    assert [found.schema.field(name).type for name in aggregates] == [
        expected.schema.field(name).type for name in aggregates
    ]


def test_values_that_differ_are_counted_without_pairs():
    """Forty thousand rows on either side that all share time: their pairs would not fit anywhere."""
    rows = 40_000
    wide = pa.table({"value": [at % 7 for at in range(rows)], "start": [0] * rows, "end": [9] * rows})
    found = tl.count_join(wide.drop_columns("value"), wide, aggregates={"n": ("value", "count_distinct")})
    assert found["n"].unique().to_pylist() == [7]


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("name", sorted(set(ALLEN) - {"equals"}))
def test_no_pair_is_looked_at_for_relations_that_leave_a_side_open(name, keyed, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("pairs were listed")

    monkeypatch.setattr("timeloom.engines.counts.partners.find", refuse)
    rng = np.random.default_rng(9)
    rows = [(int(start), int(start + length)) for start, length in rng.integers(1, 9, (60, 2))]
    right = valued(rows, pa.int64(), rng.integers(0, 5, 60).tolist())
    left = right.drop_columns("value")
    found = tl.count_join(left, right, name, on="key" if keyed else None, aggregates={"n": ("value", "count_distinct")})
    values = right["value"].to_pylist()
    expected = [
        len({values[j] for j, s in enumerate(rows) if ALLEN[name](r, s, None, None) and (not keyed or i % 2 == j % 2)})
        for i, r in enumerate(rows)
    ]
    assert found["n"].to_pylist() == expected


def test_lists_and_callables_are_refused():
    rows = pa.table({"value": [1], "start": [0], "end": [1]})
    with pytest.raises(tl.UsageError, match="'collect' cannot be had without listing the pairs"):
        tl.count_join(rows.drop_columns("value"), rows, aggregates={"all": ("value", "collect")})
