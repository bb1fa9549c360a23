"""Instants that users give: understood exactly on the axis of the column, or refused by name."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import timeloom as tl

DAY = 19_723  # 2024-01-01
MIDNIGHT = DAY * 86_400_000_000


def rows(kind, tick):
    """One row that is active at this tick only."""
    storage = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    return pa.table({"start": pa.array([tick], storage).cast(kind), "end": pa.array([tick + 1], storage).cast(kind)})


COLUMNS = {
    "integer": rows(pa.int64(), DAY),
    "date": rows(pa.date32(), DAY),
    "timestamp": rows(pa.timestamp("us"), MIDNIGHT),
    "zoned": rows(pa.timestamp("us", "Europe/Berlin"), MIDNIGHT),
}
UNZONED = [
    datetime(2024, 1, 1),
    np.datetime64("2024-01-01T00"),
    np.datetime64("2024-01-01T00:00:00.000000000", "ns"),
    np.datetime64("2024-01"),
    pd.Timestamp("2024-01-01"),
    pa.scalar(MIDNIGHT, pa.timestamp("us")),
    pa.scalar(MIDNIGHT * 1000, pa.timestamp("ns")),
]
ZONED = [
    datetime(2024, 1, 1, tzinfo=UTC),
    "2024-01-01T00:00:00Z",
    "2024-01-01 01:00:00+01:00",
    pd.Timestamp("2024-01-01", tz="UTC"),
    pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin"),
    pa.scalar(MIDNIGHT * 1000, pa.timestamp("ns", "Asia/Tokyo")),
]
DATES = [date(2024, 1, 1), np.datetime64("2024-01-01"), pa.scalar(DAY, pa.date32()), "2024-01-01"]
TIMES = ["2024-01-01 00:00", "2024-01-01T00:00:00.000000"]
FINER = [
    np.datetime64("2024-01-01T00:00:00.000000001", "ns"),
    pd.Timestamp("2024-01-01 00:00:00.000000001"),
    pa.scalar(MIDNIGHT * 1000 + 1, pa.timestamp("ns")),
]
INTEGERS = [DAY, np.int32(DAY), pa.scalar(DAY, pa.int16())]
NOTHING = [True, 5.0, b"x", pd.NaT, np.datetime64("NaT"), [1], {}, object()]
UNDERSTOOD = {
    "integer": INTEGERS,
    "date": [*DATES, *UNZONED],
    "timestamp": [*DATES, *UNZONED, *TIMES],
    "zoned": ZONED,
}
EVERYTHING = [*INTEGERS, *DATES, *UNZONED, *TIMES, *ZONED, *FINER, *NOTHING]
CASES = [(axis, value) for axis in COLUMNS for value in EVERYTHING]


@pytest.mark.parametrize(("axis", "value"), CASES, ids=[f"{axis}-{value!r}"[:60] for axis, value in CASES])
def test_every_instant_on_every_axis(axis, value):
    table = COLUMNS[axis]
    first, last = table["start"][0].as_py(), table["end"][0].as_py()
    calls = {
        "at": lambda: tl.stab(table, [value]),
        "within": lambda: tl.gaps(table, within=(value, last)),
        "open_end": lambda: tl.coalesce(table, period=tl.Period(open_end=[value])),
    }
    if any(value is known for known in UNDERSTOOD[axis]):
        assert calls["at"]().num_rows == 1
        assert calls["within"]().num_rows == 0
        assert tl.gaps(table, within=(value, None))["start"].to_pylist() == [last]
        ended = table.set_column(0, "start", table["start"]).set_column(1, "end", table["start"])
        assert tl.coalesce(ended, period=tl.Period(open_end=value))["end"].to_pylist() == [first]
        return
    for option, call in calls.items():
        with pytest.raises(tl.UsageError, match=f"^{option}=.* does not fit the period's type"):
            call()


@pytest.mark.parametrize("axis", ["date", "timestamp", "zoned"])
@pytest.mark.parametrize("start", [5, "5"])
def test_slides_start_on_the_axis_of_their_column(axis, start):
    table = COLUMNS[axis].rename_columns(["sys_start", "sys_end"])
    table = table.append_column("app_start", pa.array([1])).append_column("app_end", pa.array([2]))
    with pytest.raises(tl.UsageError, match="sys start=.* does not fit the period's type"):
        tl.sliding_windows(table, sys=tl.Slide(start, 1, 1), app=tl.Slide(1, 1, 1), steps=1)
    with pytest.raises(tl.UsageError, match="app start=.* does not fit the period's type int64"):
        tl.sliding_windows(
            table,
            sys=tl.Slide("2024-01-01T00:00Z" if axis == "zoned" else "2024-01-01", 1, 1),
            app=tl.Slide(date(2024, 1, 1), 1, 1),
            steps=1,
        )


@pytest.mark.parametrize("values", [np.array(["2024-01-01T00:00:00.000000001"], "M8[ns]"), pd.Series([FINER[1]])])
def test_arrays_of_instants_are_not_cut_off(values):
    with pytest.raises(tl.UsageError, match="no whole number of microseconds"):
        tl.stab(COLUMNS["timestamp"], values)
