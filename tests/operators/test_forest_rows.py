"""The rows of a forest tell the periods of its events, whenever these became known."""

from datetime import date

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.model.period import Period

STAYS = pa.table({"guest": ["Ann"], "start": [3], "end": [9]})


def grown() -> tl.StabForest:
    """A forest whose events came whole, open and ended later, open, and without a period in their rows."""
    forest = tl.StabForest.build(STAYS, payload=STAYS, order="start")
    forest.finish(forest.begin(5, payload={"guest": "Bob", "start": 5}), 7)
    forest.append(8, 9, payload={"guest": "Cem"})
    forest.begin(8, payload={"guest": "Dan"})
    return forest


def test_ends_that_came_later_are_in_the_rows(tmp_path):
    expected = pa.table({"guest": ["Ann", "Bob", "Cem", "Dan"], "start": [3, 5, 8, 8], "end": [9, 7, 9, None]})
    forest = grown()
    forest.save(tmp_path / "stays.idx")
    for one in (forest, tl.StabForest.load(tmp_path / "stays.idx")):
        assert one.table().to_pylist() == expected.to_pylist()
        assert one.rows([1]).to_pylist() == expected.slice(1, 1).to_pylist()
        counted = pa.table(tl.temporal_aggregate(one, {"n": "count"}))
        assert counted.equals(tl.temporal_aggregate(expected, {"n": "count"}))
        few = pa.table({"guest": ["Bob"], "start": [8], "end": [10]})
        assert tl.join(few, one, on="guest").num_rows == 0
        assert tl.stab(one, at=6)["end"].to_pylist() == [9, 7]


def test_open_ends_of_no_type_can_end_later():
    rows = pa.table({"start": [date(2024, 1, 1)], "end": pa.nulls(1)})
    forest = tl.StabForest.build(rows, payload=rows, period=Period("start", "end", closed="both"))
    forest.finish(forest.handle(0), date(2024, 1, 6))
    assert forest.table().to_pylist() == [{"start": date(2024, 1, 1), "end": date(2024, 1, 5)}]


@pytest.mark.parametrize("row", [{"start": 7, "end": 9}, {"end": 10}, {"start": 8, "end": 10}])
def test_a_row_that_tells_another_period_is_refused(row):
    forest = grown()
    with pytest.raises(tl.InvalidInputError, match="tells another period than that of its event; give an equal one"):
        forest.append(8, 9, payload=row)
    with pytest.raises(tl.InvalidInputError, match="tells another period"):
        forest.begin(8, payload={"end": 9})
    assert len(forest) == 4


def test_keyed_events_come_as_texts_as_well():
    rows = pa.table({"room": [1], "start": [date(2024, 1, 1)], "end": [date(2024, 1, 3)]})
    rooms = tl.KeyedForest.build(rows, by="room", order="start")
    rooms.append(1, "2024-01-02", "2024-01-05")
    rooms.append(2, "2024-01-03")
    assert rooms[1].table()["end"].to_pylist() == [date(2024, 1, 3), date(2024, 1, 5)]
    assert rooms[2].table().to_pylist() == [{"start": date(2024, 1, 3), "end": None}]
