"""Partitions in the verbs: however many are merged at once, and whatever is kept, the rows are those of the default."""

import pyarrow as pa
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
