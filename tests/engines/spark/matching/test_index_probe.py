"""A small side that is searched in SQL: its index, the plan, and invalid rows."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import timeloom as tl
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.join import planned
from timeloom.engines.spark.matching import index_probe as probing
from timeloom.engines.spark.matching.cell_index import ENTRIES_PER_ROW, CellIndex, IndexedSide
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.join import JoinRequest
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MAX_TICK, MIN_TICK

STARTS = st.one_of(
    st.integers(-9, 99),
    st.integers(0, 3).map(lambda at: 10**12 + at),
    st.integers(0, 30).map(lambda at: 7 * 10**15 + at * 1000),
)
ROWS = st.lists(st.tuples(STARTS, st.integers(0, 9), st.integers(0, 10**4)), min_size=1, max_size=40)


class Search:
    """Reads the row of an index as SQL does."""

    def __init__(self, index):
        values = [column[0].as_py() for column in index.row]
        self.base, self.top, self.shift, self.before, *self.parts, self.offsets, self.entries = values

    def __call__(self, first, last):
        """The rows that a search from one tick to another meets."""
        cells = [self.since(tick) >> self.shift for tick in (first, last)]
        if self.before[cells[1] + 1] <= self.before[cells[0]]:
            return []
        begin, own, stop = self.offset(first, 0), self.offset(first, 1), self.offset(last, 1)
        return [entry >> 1 for at, entry in enumerate(self.entries[begin:stop], begin) if at < own or entry & 1]

    def since(self, tick):
        return min(max(tick, self.base), self.top) - self.base

    def offset(self, tick, further):
        cell = self.since(tick) >> self.shift
        parts, froms, widths = self.parts
        if parts is None:
            return self.before[cell + further]
        part = min(max((self.since(tick) - froms[cell]) >> widths[cell], 0), parts[cell + 1] - parts[cell] - 1)
        return self.offsets[parts[cell] + part + further]


@given(ROWS, STARTS, st.integers(0, 50_000))
@example([(at, 0, 3) for at in (0, 1, 2, 3) * 9] + [(10**15, 0, 3)], 2, 1)
def test_a_search_meets_each_row_that_may_match_once(rows, first, length):
    starts = np.array([start for start, _, _ in rows], np.int64)
    low, high = starts - np.array([back for _, back, _ in rows]), starts + np.array([ahead for *_, ahead in rows])
    met = Search(CellIndex.of(starts, low, high))(first, first + length)
    assert len(set(met)) == len(met)
    assert set(np.flatnonzero((low <= first + length) & (high >= first))) <= set(met)


def test_an_index_spans_the_whole_axis():
    starts = np.array([MIN_TICK, 0, MAX_TICK - 1])
    search = Search(CellIndex.of(starts, starts, np.full(3, MAX_TICK)))
    assert search(MIN_TICK, MIN_TICK) == [0]
    assert sorted(search(MAX_TICK - 1, MAX_TICK)) == [0, 1, 2]


@pytest.mark.parametrize("gap", [0, 10**6, 10**12])
def test_bursts_and_outliers_do_not_crowd_cells(gap):
    burst = np.arange(2000) * 3
    starts = np.concatenate([burst, burst + gap, [10**16]])
    index = CellIndex.of(starts, starts, starts + 5)
    search = Search(index)
    for begun in (0, gap):
        assert max(len(search(begun + tick, begun + tick)) for tick in range(0, 6000, 77)) <= 10
    assert index.offsets.size <= 20 * starts.size


def test_long_rows_do_not_fill_the_index():
    starts = np.arange(1000) * 10
    index = CellIndex.of(starts, starts, np.where(starts % 100, starts + 5, 10**6))
    assert index.entries.size <= ENTRIES_PER_ROW * starts.size
    matching = int((starts % 100 == 0)[:501].sum())
    assert len(Search(index)(5000, 5000)) <= 2 * matching


def test_no_row_comes_of_rows_that_match_nothing():
    pieces = cover(tl.relation("intersects").boxes())
    task = IndexedSide(SideLayout("right", Period(), "p0", "p1", ()), pieces, Policy(on_invalid="drop"), ("p1",))
    rows = {"p0": pa.array([None, 3], pa.int64()), "p1": pa.array([1, 4], pa.int64())}
    assert [batch.num_rows for batch in task(iter([pa.RecordBatch.from_pydict(rows)]))] == [1]
    assert list(task(iter([pa.RecordBatch.from_pydict(rows).slice(0, 1)]))) == []
    assert list(task(iter([]))) == []


def frame(spark, rows, **kinds):
    """Rows of which Spark knows how many bytes they have."""
    schema = pa.schema({"start": pa.int64(), "end": pa.int64(), **(kinds or {"id": pa.string()})})
    columns = zip(*rows, strict=True)
    return spark.createDataFrame(pa.table(list(map(list, columns)), schema=schema))


@pytest.mark.spark
@pytest.mark.usefixtures("searched")
def test_only_the_small_side_goes_to_a_task(spark):
    large = frame(spark, [(at, at + 3, str(at)) for at in range(500)])
    small = frame(spark, [(7, 9, "x")])
    result = tl.join(large, small, strategy="broadcast")
    assert result._jdf.queryExecution().executedPlan().toString().count("MapInArrow") == 1
    assert sorted(row["id"] for row in result.collect()) == ["5", "6", "7", "8"]


@pytest.mark.spark
@pytest.mark.usefixtures("searched")
def test_values_of_any_type_and_nulls_pass_unchanged(spark):
    nested = pa.struct({"a": pa.list_(pa.int32()), "b": pa.map_(pa.string(), pa.float64())})
    values = [{"a": [at, None], "b": [("k", at / 3)]} if at % 3 else None for at in range(6)]
    rows = [(at, at + 4, None if at % 2 else f"{at}", values[at]) for at in range(6)]
    left = frame(spark, rows, text=pa.string(), nested=nested)
    assert "in SQL" in str(tl.explain(tl.join, left, left, strategy="broadcast"))
    result = tl.join(left, left, strategy="broadcast")
    expected = [(*r, *s) for r in left.collect() for s in left.collect() if r.start < s.end and s.start < r.end]
    assert sorted(map(str, map(tuple, result.collect()))) == sorted(map(str, expected))
    assert [field.dataType for field in result.schema] == [field.dataType for field in left.schema] * 2


@pytest.mark.spark
@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize(
    ("row", "reason"),
    [((None, 3), "start is null"), ((5, 2), "end is before start"), ((4, 4), "the period is empty: start equals end")],
)
def test_an_invalid_row_is_refused_with_its_period(spark, row, reason):
    many, few = (
        frame(spark, [(start, start + 1, "x") for start in range(50)] + [(*row, "y")]),
        frame(spark, [(1, 9, "z")]),
    )
    with pytest.raises(Exception, match="at least 1 row of the left table has no usable period") as caught:
        tl.join(many, few, strategy="broadcast").collect()
    start = "null" if row[0] is None else row[0]
    for words in (reason, f"[{start}, {row[1]}]", "on_invalid='quarantine'"):
        assert words in str(caught.value)
    result, rejected = tl.join(many, few, strategy="broadcast", on_invalid="quarantine")
    assert result.count() == 8
    assert [(found["id"], found["reason"]) for found in rejected.collect()] == [("y", reason)]
    with pytest.raises(Exception, match="1 of 1 rows of the right table have no usable period"):
        tl.join(few, frame(spark, [(*row, "y")]), strategy="broadcast").collect()


@pytest.mark.spark
def test_only_what_suits_is_searched_in_sql(spark, monkeypatch):
    rows = frame(spark, [(1, 5, "a"), (3, 9, "b")])
    period = Period()
    request = JoinRequest(tl.relation("intersects"), Keys(), "inner", period, period, Policy(), strategy="broadcast")
    assert not planned(rows, rows, request).probes
    monkeypatch.setattr(probing, "LARGE_BYTES", 0)
    assert not planned(rows, rows, request).probes
    monkeypatch.setattr(probing, "TIMES_LARGER", 1)
    assert planned(rows, rows, request).probes
    unfit = {
        "a filter": {"relation": tl.relation("during")},
        "nothing can match": {"relation": tl.Relation(start_start=(1, 0))},
        "rows without a partner": {"how": "left"},
        "keys": {"keys": Keys(("id",), ("id",))},
        "slices": {"strategy": "slices"},
        "dropped rows": {"policy": Policy(on_invalid="drop")},
        "dropped empty rows": {"policy": Policy(empty="drop")},
    }
    for case, change in unfit.items():
        assert not planned(rows, rows, replace(request, **change)).probes, case
