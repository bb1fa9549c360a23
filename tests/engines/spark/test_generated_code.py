"""Joins, counts and aggregates are the same where Spark generates no code, with adaptive plans and without."""

import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows
from timeloom.engines.spark.slicing import slices

pytestmark = pytest.mark.spark

MEASURES = {"n": "count", "total": ("number", "sum"), "mean": ("number", "avg"), "least": ("number", "min")}


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("whole", [0, 1 << 40], ids=["cut", "whole"])
def test_results_do_not_depend_on_generated_code(spark, changed, monkeypatch, adaptive, whole):
    changed({"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": adaptive})
    for name in ("WHOLE_BYTES", "ALONE_BYTES"):
        monkeypatch.setattr(slices, name, min(whole, getattr(slices, name)))
    tables = random_rows(1), random_rows(2)
    frames = [on_spark(spark, rows) for rows in tables]
    cases = []
    for strategy, on in (("slices", None), ("keys", "key"), ("keys", "number")):
        for how in ("inner", "full"):
            told = tl.join(*frames, on=on, how=how, strategy=strategy)
            cases.append(((strategy, how), told, tl.join(*tables, on=on, how=how)))
        told = tl.count_join(*frames, on=on, strategy=strategy)
        cases.append(((strategy, "counts"), told, tl.count_join(*tables, on=on)))
        found, wanted = (tl.temporal_aggregate(rows, MEASURES, by=on) for rows in (frames[0], tables[0]))
        cases.append((("aggregate", on), found, wanted))
    assert_all_same(cases)
