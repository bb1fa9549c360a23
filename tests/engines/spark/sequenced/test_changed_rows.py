"""Aggregates of rows that travel as what they change: the rows of local tables, however time is cut."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows
from rows import assert_same
from timeloom.engines.spark import temporal_aggregate
from timeloom.engines.spark.slicing import slices
from timeloom.model.measures import read_measures
from timeloom.model.policy import Policy
from timeloom.model.sequenced import AggregateRequest

pytestmark = pytest.mark.spark

MEASURES = {
    "n": "count",
    "known": ("number", "count"),
    "total": ("number", "sum"),
    "mean": ("number", "avg"),
    "money": ("cost", "sum"),
    "fare": ("cost", "avg"),
    "prices": ("price", "count"),
}


def merely_read(spark, rows, folder, parts=3):
    """Rows as files."""
    for part in range(parts):
        first, last = rows.num_rows * part // parts, rows.num_rows * (part + 1) // parts
        pq.write_table(rows.slice(first, last - first), folder / f"{part}.parquet")
    return spark.read.parquet(str(folder))


@pytest.fixture
def shared(spark, tmp_path, monkeypatch):
    """Rows, and the same in files that are too large for one task."""
    monkeypatch.setattr(slices, "ALONE_BYTES", 0)
    rows = random_rows(3, 90, latest=200)
    return rows, merely_read(spark, rows, tmp_path)


def test_slices_give_the_rows_of_local_tables(spark):
    rows = random_rows(11, 80, latest=60)
    frame, cases = on_spark(spark, rows).repartition(3), []
    for fill, within, sliced in [(False, None, (1, 2, 7, 64)), (False, (3, 37), (1, 7)), (True, None, (1, 7))]:
        request = AggregateRequest(read_measures(MEASURES), (), tl.Period(), Policy(), fill, within)
        expected = tl.temporal_aggregate(rows, MEASURES, fill=fill, within=within)
        for number in sliced:
            plan = temporal_aggregate.temporal_aggregate(frame, request, number)
            cases.append(((fill, within, number), plan, expected))
    assert_all_same(cases)


def test_few_tasks_agree_where_to_cut(shared, capsys):
    rows, frame = shared
    found = tl.temporal_aggregate(frame, MEASURES)
    assert_same(found.toArrow(), tl.temporal_aggregate(rows, MEASURES))
    found.explain()
    plan = capsys.readouterr().out
    assert "timeloom_ChangeTask" in plan
    assert "timeloom_CutTask" not in plan
    for options in ({"within": (10, 90)}, {"fill": True}):
        assert_same(
            tl.temporal_aggregate(frame, MEASURES, **options).toArrow(),
            tl.temporal_aggregate(rows, MEASURES, **options),
        )
    assert_same(tl.depth(frame).toArrow(), tl.depth(rows))


def test_they_agree_in_plans_that_do_not_change_while_they_run(shared, static):
    rows, frame = shared
    assert_same(tl.temporal_aggregate(frame, MEASURES).toArrow(), tl.temporal_aggregate(rows, MEASURES))


def test_it_is_told(shared):
    frame = shared[1]
    found = tl.explain(tl.temporal_aggregate, frame, MEASURES, sample=True)
    assert found.facts["rows travel as"] == "changes"
    assert "agree where to cut" in str(found)
    assert found.facts["expected copies"] == 2  # every task gets all
    sums = tl.explain(tl.temporal_aggregate, frame, {"load": ("price", "sum")})
    assert "rows travel as" not in sums.facts  # exact sums of doubles would be wider than the rows
    assert "rows travel as" not in tl.explain(tl.temporal_aggregate, frame, MEASURES, by="key").facts


def test_rows_that_may_change_go_to_one_task(shared, capsys):
    frame = shared[1].where("rand() < 0.999999999")
    found = tl.temporal_aggregate(frame, {"n": "count"})
    found.explain()
    assert "timeloom_ChangeTask" in capsys.readouterr().out
    assert tl.explain(tl.temporal_aggregate, frame, {"n": "count"})["partitions"] == 1
    assert_same(found.toArrow(), tl.temporal_aggregate(shared[0], {"n": "count"}))


def test_invalid_rows_are_refused_dropped_and_handed_out(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "ALONE_BYTES", 0)
    rows = pa.table({"start": [1, 5, 9, None], "end": [4, 2, None, 3], "v": [1, 2, 3, 4]})
    frame = merely_read(spark, rows, tmp_path, parts=2)
    with pytest.raises(Exception, match="end is before start|start is null"):
        tl.temporal_aggregate(frame, {"t": ("v", "sum")}).collect()
    expected = tl.temporal_aggregate(rows, {"t": ("v", "sum")}, on_invalid="quarantine")
    assert_same(tl.temporal_aggregate(frame, {"t": ("v", "sum")}, on_invalid="drop").toArrow(), expected.result)
    found = tl.temporal_aggregate(frame, {"t": ("v", "sum")}, on_invalid="quarantine")
    assert_same(found.result.toArrow(), expected.result)
    assert found.rejected.count() == expected.rejected.num_rows == 2


def test_sums_that_do_not_fit_are_refused(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(slices, "ALONE_BYTES", 0)
    rows = pa.table({"start": [0, 0, 0], "end": [3, 3, 4], "v": [2**62, 2**62, -(2**62)]})
    frame = merely_read(spark, rows, tmp_path)
    assert_same(
        tl.temporal_aggregate(frame, {"t": ("v", "sum"), "m": ("v", "avg")}).toArrow(),
        tl.temporal_aggregate(rows, {"t": ("v", "sum"), "m": ("v", "avg")}),
    )
    with pytest.raises(Exception, match="does not fit into an int64"):
        tl.temporal_aggregate(frame.where("v > 0"), {"t": ("v", "sum")}).collect()


def test_no_rows_give_none(shared):
    frame = shared[1]
    assert tl.temporal_aggregate(frame.where("start < -5"), MEASURES).toArrow().num_rows == 0
    assert tl.temporal_aggregate(frame, {"n": "count"}, within=(-9, -5)).toArrow().num_rows == 0
