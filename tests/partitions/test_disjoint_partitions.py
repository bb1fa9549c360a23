"""Partitions made once: several operators, rows that arrive later, and files, against brute force."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from reference import sequenced as reference


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def rows_of(found) -> list[tuple[int, int, int, int]]:
    return sorted(zip(*(column.tolist() for column in found[:4]), strict=True))


def expected(left: list, right: list, how: str) -> list[tuple[int, int, int, int]]:
    rows = list(reference.join(left, right))
    if how in ("left", "full"):
        rows += [(row, -1, start, end) for row, start, end in reference.antijoin(left, right)]
    if how in ("right", "full"):
        rows += [(-1, row, start, end) for row, start, end in reference.antijoin(right, left)]
    return sorted(rows)


def assert_minimal(made: tl.DisjointPartitions, rows: list) -> None:
    assert (len(made), made.depth) == (len(rows), reference.depth(rows))
    seen = []
    for number in range(made.depth):
        members, starts, ends = made.partition(number)
        assert (ends[:-1] <= starts[1:]).all()
        assert [rows[row] for row in members] == list(zip(starts.tolist(), ends.tolist(), strict=True))
        seen += members.tolist()
    assert sorted(seen) == list(range(len(rows)))


HOW = st.sampled_from(["inner", "left", "right", "full"])


@given(st.lists(periods(max_size=4), max_size=5), periods(), HOW, st.sampled_from([None, 1, 2]))
def test_rows_that_arrive_in_any_order_leave_the_fewest_partitions(batches, right, how, m):
    made, rows, other = tl.DisjointPartitions(), [], tl.DisjointPartitions.build(*columns(right))
    for batch in batches:
        made.extend(*columns(batch))
        rows += batch
        assert_minimal(made, rows)
    assert rows_of(made.join(other, how=how, m=m)) == expected(rows, right, how)
    alone = [(row, start, end) for row, _, start, end in rows_of(made.antijoin(other, m=m))]
    assert alone == reference.antijoin(rows, right)


@given(periods(max_size=12))
def test_periods_are_those_of_constant_lineage(rows):
    made = tl.DisjointPartitions.build(*columns(rows))
    found = list(zip(*(column.tolist() for column in made.periods()), strict=True))
    assert found == [(start, end, len(lineage)) for start, end, lineage in reference.lineage(rows)]


def test_partitions_on_disk_are_those_in_memory(tmp_path):
    """Runs of a few rows, so that merging them takes many rounds; ties of starts within and across runs."""
    rng = np.random.default_rng(4)
    right = [(start, start + 3) for start in range(0, 60, 5)]
    other = tl.DisjointPartitions.build(*columns(right))
    for number, run_rows in enumerate((1, 3, 7, 1000)):
        starts = rng.integers(0, 40, 90)
        rows = [(int(start), int(start + length)) for start, length in zip(starts, rng.integers(1, 9, 90), strict=True)]
        batches = [columns(rows[at : at + 11]) for at in range(0, 90, 11)]
        made = tl.DisjointPartitions.on_disk(batches, tmp_path / str(number), run_rows=run_rows)
        assert_minimal(made, rows)
        assert not list((tmp_path / str(number)).glob("run_*"))
        for how in ("inner", "full"):
            found = list(made.join_batches(other, how=how, rows=5))
            assert all(batch.left.size <= 5 and batch.unproductive >= 0 for batch in found)
            assert sorted(row for batch in found for row in rows_of(batch)) == expected(rows, right, how)
        in_memory = tl.DisjointPartitions.build(*columns(rows))
        for _ in range(2):
            found = [column.tolist() for column in made.periods()]
            assert found == [column.tolist() for column in in_memory.periods()]
    empty = tl.DisjointPartitions.on_disk([], tmp_path / "empty")
    assert (empty.depth, empty.join(other).left.size, empty.antijoin(other).left.size) == (0, 0, 0)


def test_readers_see_whole_states_while_rows_arrive():
    made, other = tl.DisjointPartitions(), tl.DisjointPartitions.build([0], [10_000])
    wrong, done = [], threading.Event()

    def read() -> None:
        while not done.is_set():
            found = made.join(other)
            held = set(found.left.tolist())
            if held != set(range(len(held))) or len(held) % 10:
                wrong.append(held)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    rng = np.random.default_rng(1)
    for step in range(60):
        starts = rng.integers(0, 20 * (step + 1), 10)
        made.extend(starts, starts + 7)
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(made) == 600


def test_what_cannot_be_is_refused(tmp_path):
    made = tl.DisjointPartitions.build([0, 4], [3, 9])
    with pytest.raises(tl.InvalidInputError, match=r"1 periods do not last, the first in row 1: \[5, 5\)"):
        made.extend([1, 5], [2, 5])
    with pytest.raises(tl.InvalidInputError, match="are no two columns of one length"):
        made.extend([1, 5], [2])
    with pytest.raises(tl.UsageError, match="there is no partition 1; there are 1"):
        made.partition(1)
    with pytest.raises(tl.UsageError, match="how='outer' is no way to join partitions"):
        made.join(made, how="outer")
    with pytest.raises(tl.UsageError, match="m=0 is no number of partitions"):
        made.antijoin(made, m=0)
    on_disk = tl.DisjointPartitions.on_disk([([0], [3])], tmp_path / "files")
    with pytest.raises(tl.UsageError, match="partitions on disk take no further rows"):
        on_disk.extend([1], [2])
    with pytest.raises(tl.UsageError, match="holds files; give an empty directory"):
        tl.DisjointPartitions.on_disk([], tmp_path / "files")
