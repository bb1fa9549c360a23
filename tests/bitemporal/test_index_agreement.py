"""The index and the plain pass over all rows answer every aggregate of every type alike, or both refuse it."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import MEANINGS
from timeloom.model.aggregates import AGGREGATES

ROWS = [(0, 5, 0, None), (1, 3, 0, None), (2, None, 1, 3), (0, 9, 2, None), (1, 8, 2, 4)]
WINDOWS = {"sys": tl.Slide(0, 1, 1), "app": tl.Slide(0, 1, 1), "steps": 8, "meaning": "visible"}
NAN = math.nan
SMALL = [1, 2, None, 4, 5]

COLUMNS = {
    "nan": pa.array([1.0, NAN, None, -0.0, 2.0]),
    "nothing but nan": pa.array([NAN] * 5),
    "infinite": pa.array([math.inf, -math.inf, 1e308, 1e308, None]),
    "float32": pa.array([0.1, 0.2, None, 1.5, 3], pa.float32()),
    "float16": pa.array(np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float16)),
    "uint64": pa.array([2**64 - 1, 1, None, 2**63, 5], pa.uint64()),
    "near int64": pa.array([2**62, 2**62, 1, None, -5], pa.int64()),
    "beyond doubles": pa.array([2**53 + 1, 2**53 + 3, None, 2**53 + 5, 1], pa.int64()),
    "int8": pa.array([1, 2, 3, None, -128], pa.int8()),
    "boolean": pa.array([True, False, None, True, True]),
    "decimal": pa.array(
        [Decimal("1.10"), Decimal("2.25"), None, Decimal("-3.33"), Decimal("0.01")], pa.decimal128(5, 2)
    ),
    "full decimal": pa.array(
        [Decimal("9" * 38), Decimal("9" * 38), None, Decimal(1), Decimal(2)], pa.decimal128(38, 0)
    ),
    "decimal256": pa.array([Decimal("1.5"), None, Decimal(2), Decimal(3), Decimal(4)], pa.decimal256(50, 1)),
    "duration": pa.array(SMALL, pa.duration("us")),
    "timestamp": pa.array(SMALL, pa.timestamp("us", "+05:30")),
    "date": pa.array(SMALL, pa.date32()),
    "time": pa.array(SMALL, pa.time64("us")),
    "text": pa.array(["a", "b", None, "", "c"]),
    "dictionary": pa.array(["a", "b", None, "a", "c"]).dictionary_encode(),
    "dictionary of numbers": pa.array([1, 2, None, 1, 3]).dictionary_encode(),
    "bytes": pa.array([b"a", b"b", None, b"", b"c"]),
    "list": pa.array([[1], [2], None, [], [3]]),
    "struct": pa.array([{"a": 1}, {"a": 2}, None, {"a": 3}, {"a": 4}]),
    "nothing": pa.nulls(5),
}
FUNCTIONS = [record.name for record in AGGREGATES.values() if record.order != "decisive"]


def whole_history():
    names = ("app_start", "app_end", "sys_start", "sys_end")
    times = {name: pa.array([row[k] for row in ROWS], pa.int64()) for k, name in enumerate(names)}
    return pa.table(times | COLUMNS)


def answer(ask):
    """What was found, or that it was refused."""
    try:
        return repr(ask())
    except tl.TimeloomError:
        return "refused"


@pytest.mark.parametrize("column", COLUMNS)
def test_every_aggregate_is_the_same_or_refused_by_both(column):
    history = whole_history()
    index = tl.BitemporalIndex(history)
    for entry in [*((column, name) for name in FUNCTIONS), (column, "top", 2), (column, len), (column, list)]:
        select = {"x": entry}
        plain = answer(lambda s=select: tl.sliding_windows(history, **WINDOWS, select=s)["x"].to_pylist())
        indexed = answer(lambda s=select: [step.values["x"] for step in index.windows(**WINDOWS, select=s)])
        assert indexed == plain, entry


@given(
    st.sampled_from(list(COLUMNS)),
    st.lists(
        st.tuples(*[st.integers(0, 5)] * 2, st.integers(1, 4), st.integers(0, 5), st.integers(1, 5)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(MEANINGS),
    st.sampled_from([None, 1, "auto"]),
)
@settings(max_examples=40, deadline=None)
def test_index_pass_and_present_agree_on_any_history(column, rows, meaning, every):
    """Values are drawn from a column of each type; the index of the present is asked about the present."""
    picked = COLUMNS[column].take(pa.array([row[0] % 5 for row in rows]))
    times = [(a, a + n, s, None if life == 5 else s + life) for _, a, n, s, life in rows]
    names = ("app_start", "app_end", "sys_start", "sys_end")
    history = pa.table(
        {name: pa.array([row[k] for row in times], pa.int64()) for k, name in enumerate(names)} | {"x": picked}
    )
    index = tl.BitemporalIndex(history, checkpoint_every=every)
    present = tl.BitemporalIndex(history, retroactive=False)
    now = {"sys": tl.Slide(present.latest, 0, 1), "app": tl.Slide(0, 0, 1), "steps": 6}
    for entry in [*(("x", name) for name in FUNCTIONS), ("x", "top", 2), ("x", list)]:
        select = {"x": entry}
        for ask, source in ((WINDOWS | {"meaning": meaning}, index), (now, index), (now, present)):
            plain = answer(lambda s=select, a=ask: tl.sliding_windows(history, **a, select=s)["x"].to_pylist())
            found = answer(lambda s=select, a=ask, i=source: [one.values["x"] for one in i.windows(**a, select=s)])
            assert found == plain, entry


def test_a_function_sees_whole_numbers_beside_nulls_as_they_are():
    history = whole_history()
    found = tl.sliding_windows(history, **WINDOWS, select={"x": ("beyond doubles", lambda values: int(values.max()))})
    assert max(found["x"].to_pylist()) == 2**53 + 5


def test_a_function_that_fails_names_its_step():
    index = tl.BitemporalIndex(whole_history())

    def fussy(values):
        if len(values) > 2:
            raise ValueError("too many")
        return len(values)

    with pytest.raises(tl.InvalidInputError, match="ValueError: too many for step 1"):
        list(index.windows(**WINDOWS, select={"x": ("int8", fussy)}))
