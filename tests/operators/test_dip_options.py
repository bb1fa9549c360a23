"""Partitions in the verbs: however many are merged at once, and whatever is kept, the rows are those of the default."""

import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from rows import table


def keyed(rows: list, name: str) -> pa.Table:
    return table(rows, number=name, key=pa.array([at % 2 for at in range(len(rows))], pa.int64()))


def plain(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


@given(
    periods(),
    periods(),
    st.sampled_from(["inner", "left", "right", "full"]),
    st.sampled_from([None, 1, 2, 9]),
    st.sampled_from([None, "key"]),
)
def test_m_changes_no_row(left, right, how, m, on):
    tables = keyed(left, "a"), keyed(right, "b")
    if on is None:
        tables = tables[0].drop_columns("key"), tables[1].drop_columns("key")
    joined = tl.temporal_join(*tables, on=on, how=how, algorithm="dip", m=m)
    assert plain(joined) == plain(tl.temporal_join(*tables, on=on, how=how))
    alone = tl.temporal_antijoin(*tables, on=on, algorithm="dip", m=m)
    assert plain(alone) == plain(tl.temporal_antijoin(*tables, on=on))


def seconds(call: Callable[[], object]) -> float:
    """The least processor time of several calls, which neighbours on a busy machine do not lengthen."""
    taken = []
    for _ in range(5):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize(("verb", "few", "many", "work"), [("join", 300, 2_400, 64), ("antijoin", 4_000, 64_000, 16)])
def test_rows_that_all_overlap_cost_time_in_proportion_to_the_work(verb, few, many, work):
    """Counters cannot see what they do not count, so time is looked at; a wrong power would be past the factor of 4."""
    taken = []
    for count in (few, many):
        rows = pa.table({"start": [0] * count, "end": [10] * count})
        call = {"join": tl.temporal_join, "antijoin": tl.temporal_antijoin}[verb]
        assert call(rows, rows, algorithm="dip").num_rows == (count * count if verb == "join" else 0)
        taken.append(seconds(lambda rows=rows, call=call: call(rows, rows, algorithm="dip")))
    assert taken[1] <= 4 * work * taken[0]
