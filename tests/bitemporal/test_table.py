"""Bitemporal tables: what was believed when, and batches that are visible whole or not at all."""

import pathlib
import signal
import subprocess
import sys
import textwrap
from datetime import date

import pyarrow as pa
import pytest

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.table import BitemporalTable
from timeloom.errors import InvalidInputError, StorageError, UsageError


def running_example():
    """The transactions that lead to the thesis's running example, figure 2.1."""
    table = BitemporalTable(key="name")
    table.insert(fact("John", "Smallville", 50, 10, None), sys=100)
    table.update("John", {"city": "Largevill", "balance": 40}, sys=102, portion=(11, None))
    with table.batch() as batch:
        batch.update("John", {"balance": 30}, sys=105, portion=(11, None))
        batch.update("John", {"city": "Costtown", "balance": 100}, sys=105, portion=(13, 14))
    table.delete("John", sys=106, portion=(16, None))
    table.insert(fact("Max", "Newtown", 80, 14, None), sys=107)
    with table.batch() as batch:
        batch.update("John", {"city": "Newtown", "balance": 120}, sys=108, portion=(12, 15))
        batch.update("John", {"city": "Largevill"}, sys=108, portion=(11, 12))
        batch.delete("John", sys=108, portion=(12, 15))
        batch.insert(fact("John", "Newtown", 120, 12, 15), sys=108)
    table.insert(fact("John", "Largevill", 50, 16, 17), sys=109)
    return table


def fact(name, city, balance, app_start, app_end):
    return {"name": name, "city": city, "balance": balance, "app_start": app_start, "app_end": app_end}


FIGURE = [
    ("John", "Smallville", 50, 10, None, 100, 102),
    ("John", "Smallville", 50, 10, 11, 102, None),
    ("John", "Largevill", 40, 11, None, 102, 105),
    ("John", "Largevill", 30, 11, 13, 105, 108),
    ("John", "Costtown", 100, 13, 14, 105, 108),
    ("John", "Largevill", 30, 14, None, 105, 106),
    ("John", "Largevill", 30, 14, 16, 106, 108),
    ("Max", "Newtown", 80, 14, None, 107, None),
    ("John", "Largevill", 30, 11, 12, 108, None),
    ("John", "Newtown", 120, 12, 15, 108, None),
    ("John", "Largevill", 30, 15, 16, 108, None),
    ("John", "Largevill", 50, 16, 17, 109, None),
]


def test_the_running_example_grows_from_its_transactions():
    history = running_example().history()
    assert sorted(tuple(row.values()) for row in history.to_pylist() if row["sys_end"] is None) == sorted(
        row for row in FIGURE if row[-1] is None
    )
    assert set(map(repr, (tuple(row.values()) for row in history.to_pylist()))) == set(map(repr, FIGURE))


def fail_in_the_middle(table):
    with table.batch() as batch:
        batch.insert(fact("Eve", "Oldtown", 1, 1, 2), sys=110)
        batch.delete("Nobody", sys=111)


def test_a_failed_batch_leaves_no_trace():
    table = running_example()
    index = table.index()
    before = table.history()
    with pytest.raises(InvalidInputError, match="has no current row"):
        fail_in_the_middle(table)
    assert table.history() == before
    assert len(index) == len(table) == before.num_rows
    assert table.latest == 109
    table.insert(fact("Eve", "Oldtown", 1, 1, 2), sys=110)
    assert len(index) == len(table) == before.num_rows + 1


def test_a_failed_first_insert_fixes_nothing():
    table = BitemporalTable(key="k")
    with pytest.raises(InvalidInputError, match="app_end is before app_start"):
        table.insert({"k": 1, "app_start": 5, "app_end": 2}, sys=1)
    table.insert({"k": "text now", "app_start": date(2020, 1, 1), "app_end": None}, sys=date(2020, 1, 1))
    assert table.as_of(app=date(2021, 1, 1)).num_rows == 1


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            lambda t: t.insert(fact("A", "B", 1, 1, 2), sys=108),
            InvalidInputError,
            "system time goes backwards: found 108",
        ),
        (lambda t: t.delete("Nobody", sys=110), InvalidInputError, "'Nobody' has no current row"),
        (lambda t: t.delete("Max", sys=110, portion=(1, 3)), InvalidInputError, "no current row that overlaps"),
        (lambda t: t.delete("Max", sys=110, portion=(3, 3)), UsageError, "covers no time"),
        (lambda t: t.delete(("Max", 1), sys=110), UsageError, "has 2 parts, expected 1"),
        (lambda t: t.update("Max", {"balanse": 1}, sys=110), InvalidInputError, "Did you mean 'balance'"),
        (lambda t: t.update("Max", {"name": "x"}, sys=110), InvalidInputError, "cannot be updated"),
        (lambda t: t.update("Max", {"balance": "x"}, sys=110), InvalidInputError, "does not fit its type"),
        (lambda t: t.insert({"name": "A"}, sys=110), InvalidInputError, "no column 'app_start'"),
        (lambda t: t.insert([], sys=110), UsageError, "insert takes a table"),
        (lambda t: t.insert(fact("A", "B", 1, 2, 2), sys=110), InvalidInputError, "empty"),
        (lambda t: t.insert(fact("A", "B", "much", 2, 3), sys=110), InvalidInputError, "do not fit"),
        (lambda t: t.insert(fact("A", "B", 1, 2, 3), sys="soon"), UsageError, "does not fit the period's type"),
        (lambda t: t.batch().__enter__() and t.insert(fact("A", "B", 1, 2, 3), sys=110), UsageError, "open already"),
    ],
)
def test_bad_changes_are_refused_with_words_that_help(change, error, words):
    with pytest.raises(error, match=words):
        change(running_example())


def test_history_that_was_handed_out_does_not_change():
    table = running_example()
    before = table.history()
    copy = before.to_pylist()
    table.delete("Max", sys=120)
    assert before.to_pylist() == copy


def test_tables_are_saved_and_go_on(tmp_path):
    path = tmp_path / "table.arrow"
    table = running_example()
    table.save(path)
    loaded = BitemporalTable.load(path)
    for either in (table, loaded):
        either.delete("Max", sys=112, portion=(20, 22))
    assert loaded.history() == table.history()
    with pytest.raises(InvalidInputError, match="goes backwards"):
        loaded.delete("Max", sys=111)
    with pytest.raises(StorageError, match="holds 'bitemporal-table'"):
        BitemporalIndex.load(path)


def test_after_a_kill_the_state_is_that_of_a_whole_batch(tmp_path):
    path = tmp_path / "table.arrow"
    program = f"""
        import pathlib
        from timeloom.bitemporal.table import BitemporalTable
        table = BitemporalTable(key="k")
        for number in range(1, 100000):
            with table.batch() as batch:
                for part in range(3):
                    batch.insert({{"k": number * 3 + part, "app_start": 0, "app_end": None}}, sys=number)
            table.save({str(path)!r})
            pathlib.Path({str(tmp_path / "saved")!r}).touch()
    """
    writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)])
    while not (tmp_path / "saved").exists() or BitemporalTable.load(path).latest < 5:
        assert writer.poll() is None
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    loaded = BitemporalTable.load(path)
    assert len(loaded) == 3 * loaded.latest
    loaded.insert(
        pa.table({"k": [1], "app_start": [0], "app_end": pa.array([None], pa.int64())}), sys=loaded.latest + 1
    )
    assert pathlib.Path(path).exists()
