"""The table of open rows: behaviour equal to a dict under any history, also where ids collide and the table grows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.streaming.open_rows import (
    HANDLE,
    ID,
    START,
    empty_rows,
    enter,
    refilled,
    rows_in,
    slot_of,
    take_out,
    with_space,
)

ids = st.integers(0, 5) | st.sampled_from([8, 16, 24, 64, 2**40, 2**41, -1, -9, -(2**63), 2**63 - 1])


@settings(max_examples=150, deadline=None)
@given(history=st.lists(st.tuples(st.integers(0, 1), ids), max_size=40))
def test_like_a_dict(history):
    """Each id comes, and goes if it is there already."""
    rows, known = empty_rows(2), ({}, {})
    for step, (side, key) in enumerate(history):
        rows = with_space(rows, 1)
        slot = slot_of(rows, side, key)
        assert (rows[side, slot, HANDLE] >= 0) == (key in known[side])
        if key in known[side]:
            assert rows[side, slot, [HANDLE, START]].tolist() == [known[side].pop(key), 7]
            take_out(rows, side, slot)
        else:
            known[side][key] = step
            enter(rows, side, slot, key, step, 7)
        for number, expected in enumerate(known):
            found = rows_in(rows, number)
            assert dict(zip(found[:, ID].tolist(), found[:, HANDLE].tolist(), strict=True)) == expected
            assert rows[number, -1, 0] == len(expected)
    again = refilled(rows_in(rows, 0), rows_in(rows, 1))
    for side in (0, 1):
        assert sorted(rows_in(again, side).tolist()) == sorted(rows_in(rows, side).tolist())
