"""Bitemporal tables against the definition: any transactions, in any batches, also at one system time."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import BitemporalModel, holds

SCHEMA = pa.schema([("k", pa.string()), *((name, pa.int64()) for name in ("v", "app_start", "app_end"))])
TIMES = st.integers(0, 8)
KEYS = st.sampled_from("ab")


@st.composite
def operations(draw):
    kind = draw(st.sampled_from(["insert", "update", "delete"]))
    low = draw(st.one_of(st.none(), TIMES)) if kind != "insert" else draw(TIMES)
    high = draw(st.one_of(st.none(), st.integers((low or 0) + 1, 10)))
    return kind, draw(KEYS), (low, high), draw(st.integers(1, 3)), draw(st.sampled_from([0, 0, 0, 1, 2, -1]))


BATCHES = st.lists(st.lists(operations(), max_size=4), max_size=6)


def apply(batch, model, operation, now):
    """One operation on the table and on the model; False if both refuse it."""
    kind, key, portion, value, _ = operation
    if kind == "insert":
        fact = {"k": key, "v": value, "app_start": portion[0], "app_end": portion[1]}
        batch.insert(fact if value < 3 else pa.Table.from_pylist([fact], SCHEMA), sys=now)
        model.insert(now, (key, value, *portion))
    elif kind == "update":
        batch.update(key, {"v": value}, sys=now, portion=portion)
        assert model.replace(now, key, portion, value)
    else:
        batch.delete(key, sys=now, portion=portion)
        assert model.replace(now, key, portion, None)


def facts(rows):
    return Counter((row["k"], row["v"], row["app_start"], row["app_end"]) for row in rows)


def compare(table, model, indexes):
    history = table.history().to_pylist()
    assert all(row["sys_end"] is None or row["sys_start"] < row["sys_end"] for row in history), "a trace"
    assert [row["sys_start"] for row in history] == sorted(row["sys_start"] for row in history)
    assert len(table) == len(history)
    for at in range(model.latest + 2):
        expected = Counter(model.at(at))
        assert facts(table.as_of(sys=at).to_pylist()) == expected
        assert facts(row for row in history if holds(row["sys_start"], row["sys_end"], at)) == expected
        for app in (0, 4, 9):
            valid = Counter(fact for fact in model.at(at) if holds(*fact[2:], app))
            assert facts(table.as_of(sys=at, app=app).to_pylist()) == valid
            for index in indexes:
                if index._retroactive or at >= table.latest:
                    numbers = index.as_of(sys=at, app=app)
                    assert facts(history[number] for number in numbers) == valid
                    assert facts(index.rows(numbers).to_pylist()) == valid
    for index in indexes:
        assert len(index) == len(history)


@pytest.fixture(params=["as it is", "small"])
def sizes(request, monkeypatch):
    """The sizes of chunks, and such that tiny tables have many."""
    if request.param == "small":
        monkeypatch.setattr("timeloom.bitemporal.draft.SETTLING", 3)
        monkeypatch.setattr("timeloom.bitemporal.batch.MANY", 1)
        monkeypatch.setattr("timeloom.bitemporal.checkpoints.LEAST_SPACE", 2)


@pytest.mark.usefixtures("sizes")
@given(BATCHES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tables_and_their_indexes_equal_the_model(batches):
    table, model, now = tl.BitemporalTable(key="k"), BitemporalModel(), 0
    table.insert({"k": "z", "v": 0, "app_start": 0, "app_end": 1}, sys=0)
    model.insert(0, ("z", 0, 0, 1))
    indexes = [table.index(), table.index(retroactive=False, bucket=1), table.index(checkpoint_every=2)]
    for operations_of_batch in batches:
        tried, then, length = model.copy(), now, len(table)
        try:
            with table.batch() as batch:
                for operation in operations_of_batch:
                    then += operation[-1]
                    apply(batch, tried, operation, then)
        except tl.InvalidInputError:
            assert len(table) == length
            continue
        model, now = tried, table.latest
    compare(table, model, indexes)


def test_a_version_replaced_in_another_batch_at_its_own_time_leaves_no_trace():
    one, two = tl.BitemporalTable(key="k"), tl.BitemporalTable(key="k")
    for table in (one, two):
        table.insert({"k": 0, "v": 0, "app_start": 0, "app_end": None}, sys=4)
    index = two.index()
    with one.batch() as batch:
        batch.insert({"k": 1, "v": 1, "app_start": 0, "app_end": 9}, sys=5)
        batch.update(1, {"v": 2}, sys=5, portion=(3, 6))
        batch.delete(1, sys=5, portion=(6, 9))
        batch.insert({"k": 2, "v": 7, "app_start": 1, "app_end": None}, sys=5)
    two.insert({"k": 1, "v": 1, "app_start": 0, "app_end": 9}, sys=5)
    two.update(1, {"v": 2}, sys=5, portion=(3, 6))
    pinned = index.windows(sys=tl.Slide(4, 1, 0), app=tl.Slide(0, 4, 0), steps=0, select={"v": ("v", "collect")})
    two.delete(1, sys=5, portion=(6, 9))
    two.insert({"k": 2, "v": 7, "app_start": 1, "app_end": None}, sys=5)
    assert two.history() == one.history()
    assert len(index) == len(two) == 4
    assert index.rows(index.as_of(app=4))["v"].to_pylist() == [0, 2, 7]
    assert [step.values["v"] for step in pinned] == [[0, 2]]


MISUSES = [
    lambda t: tl.BitemporalTable(3),
    lambda t: tl.BitemporalTable([]),
    lambda t: t.insert(3, sys=9),
    lambda t: t.insert([3], sys=9),
    lambda t: t.insert({}, sys=9),
    lambda t: t.insert({1: 2}, sys=9),
    lambda t: t.insert([{"k": 3, "v": 1, "app_start": 0, "app_end": 1}, {"k": 4}], sys=9),
    lambda t: t.insert({"k": 3, "v": "x", "app_start": 0, "app_end": 1}, sys=9),
    lambda t: t.insert({"k": 3, "v": 2**70, "app_start": 0, "app_end": 1}, sys=9),
    lambda t: t.insert({"k": 3, "v": 1, "app_start": "x", "app_end": 1}, sys=9),
    lambda t: t.insert({"k": [3], "v": 1, "app_start": 0, "app_end": 1}, sys=9),
    lambda t: t.insert({"k": 3, "v": 1, "app_start": 0, "app_end": 1}, sys=None),
    lambda t: t.insert({"k": 3, "v": 1, "app_start": 0, "app_end": 1}, sys=2**63 - 1),
    lambda t: t.update(1, 3, sys=9),
    lambda t: t.update(1, {"v": 2**70}, sys=9),
    lambda t: t.update(1, {"v": object()}, sys=9),
    lambda t: t.update(1, {3: 1}, sys=9),
    lambda t: t.update([1], {"v": 1}, sys=9),
    lambda t: t.update({"j": 1}, {"v": 1}, sys=9),
    lambda t: t.delete(1, sys=9, portion=3),
    lambda t: t.delete(1, sys=9, portion=(1, 2, 3)),
    lambda t: t.delete(1, sys=9, portion=("a", None)),
    lambda t: t.as_of(sys="soon"),
    lambda t: t.as_of(app="soon"),
    lambda t: t.index(bucket=-1),
    lambda t: t.index().append(t.history()),
    lambda t: t.index().end([0], 9),
    lambda t: t.batch().insert({"k": 3, "v": 1, "app_start": 0, "app_end": 1}, sys=9),
    lambda t: tl.BitemporalTable("k").history(),
    lambda t: tl.BitemporalTable("k").as_of(),
    lambda t: tl.BitemporalTable("k").index(),
    lambda t: tl.BitemporalTable("k").delete(1, sys=3),
    lambda t: tl.BitemporalTable("k").insert({"k": [1], "app_start": 0, "app_end": 1}, sys=True),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_refused_in_our_words(misuse):
    table = tl.BitemporalTable(key="k")
    table.insert({"k": 1, "v": 1, "app_start": 0, "app_end": None}, sys=1)
    before = table.history()
    with pytest.raises(tl.TimeloomError):
        misuse(table)
    assert table.history() == before
    table.update(1, {"v": 2}, sys=1)
    assert table.history()["v"].to_pylist() == [2]


def test_an_insert_of_no_facts_fixes_the_columns_and_the_time():
    table = tl.BitemporalTable(key="k")
    table.insert({"k": 1, "app_start": 0, "app_end": 1}, sys=3)
    empty = tl.BitemporalTable(key="k")
    empty.insert(table.history().select(["k", "app_start", "app_end"]).slice(0, 0), sys=5)
    assert (empty.latest, len(empty), empty.history().num_rows) == (5, 0, 0)
    empty.insert({"k": 1, "app_start": 0, "app_end": 1}, sys=5)
    assert len(empty) == 1


def test_keys_of_no_number_are_found_again():
    table = tl.BitemporalTable(key="k")
    table.insert({"k": float("nan"), "v": 1, "app_start": 0, "app_end": None}, sys=1)
    table.update(float("nan"), {"v": 2}, sys=2)
    assert table.as_of()["v"].to_pylist() == [2]
