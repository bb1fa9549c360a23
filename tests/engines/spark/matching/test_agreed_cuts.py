"""Joins of tables whose rows every task gets, and which agree where to cut: the same rows as on local tables."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeloom as tl
from rows import assert_same
from timeloom.engines.spark.matching import inputs
from timeloom.engines.spark.slicing import slices

pytestmark = pytest.mark.spark


def drawn(seed, rows=400):
    """Rows of which some last long, some begin together, and a few are alike."""
    draw = np.random.default_rng(seed)
    start = np.where(draw.random(rows) < 0.2, 50, draw.integers(0, 200, rows))
    end = start + draw.choice([1, 2, 5, 150], rows, p=[0.4, 0.3, 0.25, 0.05])
    return pa.table({"start": start, "end": end, "n": draw.integers(0, rows // 2, rows)})


@pytest.fixture
def tables(spark, tmp_path, monkeypatch):
    """Two local tables, and the same as files in three parts each, which are too large for one task or a broadcast."""
    monkeypatch.setattr(inputs, "ALONE_BYTES", 0)
    threshold = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    found = []
    for name, table in (("left", drawn(1)), ("right", drawn(2))):
        (tmp_path / name).mkdir()
        for part in range(3):
            pq.write_table(table.slice(part * 133, 133 if part < 2 else None), tmp_path / name / f"{part}.parquet")
        found.append((table, spark.read.parquet(str(tmp_path / name))))
    (left, left_frame), (right, right_frame) = found
    yield (left, right), (left_frame, right_frame)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("relation", ["intersects", "overlaps | met_by"])
def test_all_kinds_of_join_give_the_rows_of_local_tables(how, relation, tables):
    local, frames = tables
    result = tl.join(*frames, relation, how=how)
    assert_same(result.toArrow(), tl.join(*local, relation, how=how))


def test_counts_and_sequenced_joins_give_the_rows_of_local_tables(tables):
    local, frames = tables
    assert_same(tl.count_join(*frames).toArrow(), tl.count_join(*local))
    assert_same(tl.temporal_join(*frames).toArrow(), tl.temporal_join(*local))


def test_plans_that_do_not_change_while_they_run_give_the_same(tables, static):
    local, frames = tables
    assert_same(tl.join(*frames, how="full").toArrow(), tl.join(*local, how="full"))


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_rows_go_to_tasks_by_their_keys_alone(how, tables, capsys):
    local, frames = tables
    result = tl.join(*frames, how=how, on="n")
    result.explain()
    assert "CutTask" not in capsys.readouterr().out
    assert_same(result.toArrow(), tl.join(*local, how=how, on="n"))
    assert_same(tl.count_join(*frames, on="n").toArrow(), tl.count_join(*local, on="n"))


def test_that_keys_alone_decide_is_told(tables, monkeypatch):
    found = tl.explain(tl.join, *tables[1], on="n", sample=True)
    assert "all rows of a key go to one task" in str(found)
    assert found.facts["replication"] == "1"
    assert "quantiles of a sample" in str(tl.explain(tl.join, *tables[1], on="n", strategy="keys"))
    monkeypatch.setattr(inputs, "AGREED_TASKS", 1)
    assert "quantiles of a sample" in str(tl.explain(tl.join, *tables[1], on="n"))


def test_it_is_told(tables):
    found = tl.explain(tl.join, *tables[1], sample=True)
    assert "all agree where to cut" in str(found)
    assert found.facts["partitions"] == found.facts["expected copies"] == 2


def test_rows_that_may_change_are_sampled_and_so_is_who_asks_for_slices(tables, spark, monkeypatch):
    left, right = tables[1]
    drawn_again = left.where("rand() < 0.9")
    for frames in ((drawn_again, right), (left.limit(300), right)):
        assert "quantiles of a sample" in str(tl.explain(tl.join, *frames))
    assert "quantiles of a sample" in str(tl.explain(tl.join, left, right, strategy="slices"))
    monkeypatch.setattr(slices, "AGREED_BYTES", 0)
    assert "quantiles of a sample" in str(tl.explain(tl.join, left, right))
