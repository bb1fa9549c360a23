"""What an index takes, and what it refuses before anything changes."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

INDIA = timezone(timedelta(hours=5, minutes=30))
WINDOWS = {"sys": tl.Slide(0, 4, 1), "app": tl.Slide(0, 4, 1), "steps": 3}


def version(now=0, **columns):
    times = {"sys_start": [now], "sys_end": pa.array([None], pa.int64()), "app_start": [1], "app_end": [9]}
    return pa.table(times | {"v": [1], "w": ["a"]} | columns)


def seen(index):
    select = {"v": ("v", "sum"), "w": ("w", "collect")}
    steps = [(step.valid().tolist(), step.values) for step in index.windows(**WINDOWS, select=select)]
    return len(index), index.latest, index.rows(np.arange(len(index))).to_pylist(), steps


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (version(1).drop_columns(["w"]), "no column 'w', which the index holds"),
        (version(1, x=[1]), "a column 'x', which the index does not hold"),
        (version(1, v=["text"]), "column 'v' is string, but the index holds int64"),
        (version(1, v=[1.5]), "column 'v' is double, but the index holds int64"),
        (version(1, w=[b"a"]), "column 'w' is binary, but the index holds string"),
        (version(1, app_start=[date(2020, 1, 1)], app_end=[date(2020, 1, 2)]), "cast the columns"),
        (version(-1), "system time goes backwards"),
        (version(1, sys_start=pa.array([None], pa.int64())), "is null"),
        (version(1, sys_start=[None]), "has no values and no type"),
        ({"sys_start": [1]}, "is a dict"),
    ],
)
def test_another_table_is_refused_and_changes_nothing(other, words):
    index = tl.BitemporalIndex(version())
    before = seen(index)
    with pytest.raises(tl.TimeloomError, match=words):
        index.append(other)
    assert seen(index) == before
    index.append(version(1))
    assert seen(index)[0] == 2


def test_columns_may_come_in_another_order_width_or_without_values():
    index = tl.BitemporalIndex(version(w=pa.nulls(1), sys_end=pa.nulls(1)))
    index.append(version(1).select(["w", "v", "app_end", "app_start", "sys_end", "sys_start"]))
    index.append(version(2, app_start=pa.array([1], pa.int32()), app_end=pa.array([9], pa.int16()), v=pa.nulls(1)))
    index.append(version(3).replace_schema_metadata({"made by": "somebody"}))
    assert index.rows([0, 1, 2, 3])["w"].to_pylist() == [None, "a", "a", "a"]
    assert index.rows([2, 3])["v"].to_pylist() == [None, 1]
    assert index.as_of(app=5).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("zone", ["+05:30", "-08:00", "Asia/Kolkata", "UTC"])
def test_zones_of_a_fixed_offset(zone, tmp_path):
    kind = pa.timestamp("us", zone)
    first = datetime(2020, 1, 1, tzinfo=UTC)
    hours = [first + timedelta(hours=count) for count in range(6)]
    rows = {"sys_start": hours[:3], "sys_end": [None, hours[4], None], "app_start": hours[1:4], "app_end": hours[3:6]}
    history = pa.table({name: pa.array(values, kind) for name, values in rows.items()})
    index = tl.BitemporalIndex(history)
    index.save(tmp_path / "index")
    for either in (index, tl.BitemporalIndex.load(tmp_path / "index")):
        assert either.latest == hours[4]
        query = either.windows(sys=tl.Slide(hours[2], "1 hour", "1 hour"), app=tl.Slide(hours[1], "1 hour", 0), steps=2)
        assert [step.valid().tolist() for step in query] == [[0, 1], [0], [0]]
        assert next(iter(query)).sys == (hours[2], hours[3])
        assert either.as_of(sys="2020-01-01T07:30:00+05:30", app=hours[2].astimezone(INDIA)).tolist() == [0, 1]
        either.end([0], datetime(2020, 1, 1, 11, 30, tzinfo=INDIA))
        assert either.latest == hours[4] + timedelta(hours=2)
        either.append(
            history.set_column(0, "sys_start", pa.array([hours[5] + timedelta(hours=9)] * 3, kind)).slice(0, 1)
        )
        assert len(either) == 4


def test_tables_with_zones_of_a_fixed_offset():
    facts = tl.BitemporalTable(key="k")
    facts.insert(
        {"k": 1, "app_start": datetime(2020, 1, 1, tzinfo=INDIA), "app_end": None},
        sys=datetime(2020, 1, 1, tzinfo=INDIA),
    )
    facts.delete(1, sys=datetime(2020, 1, 1, tzinfo=UTC), portion=(datetime(2021, 1, 1, tzinfo=UTC), None))
    assert facts.latest == datetime(2020, 1, 1, tzinfo=UTC)
    assert facts.as_of(app=datetime(2022, 1, 1, tzinfo=UTC)).num_rows == 0
    index = facts.index()
    assert index.as_of(app=datetime(2020, 6, 1, tzinfo=INDIA)).tolist() == [1]


@pytest.mark.parametrize(
    "ends",
    [
        {0: 3, 2: 4},
        ([0, 2], [3, 4]),
        (np.array([2, 0], np.uint8), np.array([4, 3])),
        (pa.array([0, 2]).to_numpy(), pa.array([3, 4], pa.int16())),
        (range(0, 4, 2), pa.chunked_array([[3], [4]])),
    ],
)
def test_ends_are_a_mapping_or_two_columns(ends):
    index = tl.BitemporalIndex(pa.concat_tables([version()] * 3))
    index.apply(version(2), ends)
    assert index.latest == 4
    assert [index.as_of(sys=sys).tolist() for sys in (1, 2, 3, 4)] == [[0, 1, 2], [0, 1, 2, 3], [1, 2, 3], [1, 3]]


def test_columns_of_ends_have_the_type_of_system_time():
    days = pa.array([date(2020, 1, 1)] * 2)
    times = {"sys_start": days, "sys_end": pa.nulls(2, pa.date32()), "app_start": [1, 1], "app_end": [9, 9]}
    index = tl.BitemporalIndex(pa.table(times))
    index.apply(None, ([0], np.array(["2020-01-05"], "datetime64[D]")))
    index.apply(None, ([1], [date(2020, 1, 6)]))
    assert index.as_of(sys=date(2020, 1, 5)).tolist() == [1]
    assert index.latest == date(2020, 1, 6)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (([0, 0], [3, 3]), "row 0 would end more than once"),
        (([0], [3, 4]), "1 row numbers and 2 system ends"),
        (([0], pa.array([None], pa.int64())), "some of which are null"),
        (([0], pa.array([date(2020, 1, 1)])), "but the index holds int64"),
        (([0], ["soon"]), "does not fit"),
        (([0], 3), "are no system ends"),
        (([0], np.array([[3]])), "are no system ends"),
        (([1], [3]), "row 1 is unknown"),
        (([0], [2**63 - 1]), "never ends"),
        ([[0], [3]], "are no ends of rows"),
        (([0], [3], [4]), "takes a mapping or a tuple of 2"),
        ([], "takes a mapping or a tuple of 2"),
    ],
)
def test_columns_of_ends_that_do_not_fit_change_nothing(ends, words):
    index = tl.BitemporalIndex(version())
    before = seen(index)
    with pytest.raises(tl.TimeloomError, match=words):
        index.apply(version(1), ends)
    assert seen(index) == before


@pytest.mark.parametrize(
    "misuse",
    [
        lambda ix: ix.end("all", 3),
        lambda ix: ix.end([0.5], 3),
        lambda ix: ix.end(0, 3),
        lambda ix: ix.end([0], None),
        lambda ix: ix.end([0], 2**63 - 1),
        lambda ix: ix.apply(None, [1, 2]),
        lambda ix: ix.apply(None, {"0": 3}),
        lambda ix: ix.rows(0),
        lambda ix: ix.rows(["a"]),
        lambda ix: ix.rows([9]),
        lambda ix: ix.cells(sys=3),
        lambda ix: ix.cells(sys=(1, "x")),
        lambda ix: ix.as_of(app="soon"),
        lambda ix: ix.as_of(app=None),
        lambda ix: ix.checkpoint("soon"),
        lambda ix: ix.windows(**WINDOWS | {"sys": None}),
        lambda ix: ix.windows(**WINDOWS | {"steps": "3"}),
        lambda ix: ix.windows(**WINDOWS | {"steps": 10**12}),
        lambda ix: ix.windows(**WINDOWS, select=["v"]),
        lambda ix: ix.windows(**WINDOWS, select={"x": ("w", "sum")}),
        lambda ix: ix.windows(**WINDOWS, meaning=3),
        lambda ix: ix.append(None) or ix.append(3),
        lambda _: tl.BitemporalIndex(3),
        lambda _: tl.BitemporalIndex(version(), retroactive="no"),
        lambda _: tl.BitemporalIndex(version(), checkpoint_every=0),
        lambda _: tl.BitemporalIndex(version(), checkpoint_every=1.5),
        lambda _: tl.BitemporalIndex(version(), bucket=0),
        lambda _: tl.BitemporalIndex(version(), bucket="wide"),
        lambda _: tl.BitemporalIndex(version(), bucket="2 days"),
        lambda _: tl.BitemporalIndex(version(), sys_period=3),
        lambda _: tl.BitemporalIndex().rows([]),
        lambda _: tl.BitemporalIndex().as_of(app=1),
        lambda _: tl.BitemporalIndex().checkpoint(),
    ],
)
def test_misuse_is_refused_in_our_words(misuse):
    index = tl.BitemporalIndex(version())
    with pytest.raises(tl.TimeloomError):
        misuse(index)
    assert seen(index)[0] == 1


def test_windows_beyond_the_calendar_are_refused_and_integers_are_not():
    days = pa.table({name: pa.array([5], pa.int32()).cast(pa.date32()) for name in ("sys_start", "app_start")})
    days = days.append_column("sys_end", pa.nulls(1)).append_column("app_end", pa.nulls(1))
    far = {"sys": tl.Slide(date(1970, 1, 1), 2**40, 1), "app": tl.Slide(date(1970, 1, 1), 1, 1), "steps": 1}
    with pytest.raises(tl.InvalidInputError, match="is date32.*, which cannot hold"):
        list(tl.BitemporalIndex(days).windows(**far))
    with pytest.raises(tl.InvalidInputError, match="is date32.*, which cannot hold"):
        tl.sliding_windows(days, **far, bounds=True)
    assert tl.sliding_windows(days, **far)["n"].to_pylist() == [0, 0]
    small = pa.table({name: pa.array([5], pa.int8()) for name in ("sys_start", "app_start")})
    small = small.append_column("sys_end", pa.nulls(1)).append_column("app_end", pa.nulls(1))
    wide = {"sys": tl.Slide(-500, 1000, 1), "app": tl.Slide(0, 500, 1), "steps": 1}
    assert [step.sys for step in tl.BitemporalIndex(small).windows(**wide)] == [(-500, 500), (-499, 501)]
    with pytest.raises(tl.InvalidInputError, match="is int8, which cannot hold"):
        tl.sliding_windows(small, **wide, bounds=True)
