"""A join counts before it writes: what does not fit is refused with its size, and nothing else is."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import timeloom as tl
from timeloom.cli import main
from timeloom.engines.counts import limits
from timeloom.engines.resources.memory import free_bytes
from timeloom.operators.registry import verbs
from timeloom.pipeline.definition.signatures import options_of

MANY = pa.table({"start": np.zeros(100_000, np.int64), "end": np.full(100_000, 10), "v": np.arange(100_000)})
ROWS = pa.table({"start": [0, 1, 20], "end": [10, 11, 30], "v": [1, 2, 3]})
ALGORITHMS = ["auto", "forward_scan", "sweep", "range_tree", "skip"]


@pytest.mark.parametrize(
    "call",
    [
        *(lambda name=name: tl.join(MANY, MANY, algorithm=name) for name in ALGORITHMS),
        *(lambda how=how: tl.join(MANY, MANY, how=how) for how in ("left", "right", "full")),
        lambda: tl.join(MANY, MANY, "equals"),
        lambda: tl.join(MANY, MANY, columns=["v", "v_right"]),
        *(lambda name=name: tl.temporal_join(MANY, MANY, algorithm=name) for name in ("auto", "sweep", "dip")),
        lambda: tl.temporal_join([ROWS, MANY, MANY]),
    ],
)
def test_ten_billion_pairs_are_refused_with_their_size(call):
    with pytest.raises(tl.InvalidInputError, match=r"would have [\d,]{5,} rows, about .* [GT]B, more than fits"):
        call()


def test_the_number_of_rows_is_exact_and_the_remedy_works():
    with pytest.raises(tl.InvalidInputError, match=r"10,000,000,000 rows, about 480 GB.*batches=True.*max_rows="):
        tl.join(MANY, MANY)
    assert next(iter(tl.join(MANY, MANY, batches=True, batch_rows=1000))).num_rows == 1000
    assert tl.join(MANY, MANY, how="semi").num_rows == 100_000


@pytest.mark.parametrize("how", ["inner", "left", "full"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_max_rows_is_the_most(how, algorithm):
    rows = tl.join(ROWS, ROWS, how=how, algorithm=algorithm).num_rows
    assert tl.join(ROWS, ROWS, how=how, algorithm=algorithm, max_rows=rows).num_rows == rows
    with pytest.raises(tl.InvalidInputError, match=rf"would have {rows} rows.*max_rows={rows - 1}"):
        tl.join(ROWS, ROWS, how=how, algorithm=algorithm, max_rows=rows - 1)


def test_max_rows_holds_for_batches_and_sequenced_joins():
    with pytest.raises(tl.InvalidInputError, match="would have 5 rows.*max_rows=4"):
        tl.join(ROWS, ROWS, batches=True, max_rows=4)
    with pytest.raises(tl.InvalidInputError, match="would have 5 rows.*max_rows=4"):
        tl.temporal_join(ROWS, ROWS, max_rows=4)
    assert tl.temporal_join(ROWS, ROWS, max_rows=5).num_rows == 5
    with pytest.raises(tl.UsageError, match="max_rows=-1 is no number of rows"):
        tl.join(ROWS, ROWS, max_rows=-1)


def test_a_given_limit_stands_in_for_that_of_memory(monkeypatch):
    monkeypatch.setattr(limits, "free_bytes", lambda: 100)
    with pytest.raises(tl.InvalidInputError, match="would have 5 rows, about 240 bytes, more than fits"):
        tl.join(ROWS, ROWS)
    assert tl.join(ROWS, ROWS, max_rows=5).num_rows == 5


def test_writing_stops_at_the_limit_where_the_sample_misses_the_pairs(monkeypatch):
    monkeypatch.setattr(limits, "_at_most", lambda *_: 0.0)
    for call in (tl.join, tl.temporal_join):
        with pytest.raises(tl.InvalidInputError, match="10,000,000,000 rows"):
            call(MANY, MANY)


def test_lists_and_rows_of_windows_are_refused_as_well(monkeypatch):
    monkeypatch.setattr("timeloom.engines.resources.memory.free_bytes", lambda: 100)
    with pytest.raises(tl.InvalidInputError, match="would have 5 rows, about 120 bytes.*use a window"):
        tl.temporal_aggregate(ROWS, {"all": ("v", "collect")})
    history = pa.table({"sys_start": [1], "sys_end": [9], "app_start": [1], "app_end": [9]})
    with pytest.raises(tl.InvalidInputError, match="would have 3 rows.*deltas=True"):
        tl.sliding_windows(history, tl.Slide(1, 2, 1), tl.Slide(1, 2, 1), steps=2, rows=True)


def test_systems_that_do_not_tell_have_no_limit(monkeypatch):
    assert free_bytes() > 0
    monkeypatch.setattr(limits, "free_bytes", lambda: None)
    assert tl.join(ROWS, ROWS).num_rows == 5


def test_commands_and_pipelines_have_the_option(tmp_path, capsys):
    assert {"join", "temporal_join"} <= {
        name for name, verb in verbs().items() if "max_rows" in [option.name for option in options_of(verb)]
    }
    parquet.write_table(ROWS, tmp_path / "rows.parquet")
    files = [str(tmp_path / "rows.parquet")] * 2
    assert main(["join", *files, "--max-rows", "4", "-o", str(tmp_path / "out.parquet")]) != 0
    assert "max_rows=4" in capsys.readouterr().err


def test_spark_refuses_the_option_by_name(spark):
    frame = spark.createDataFrame(ROWS.to_pandas())
    for verb in (tl.join, tl.temporal_join):
        with pytest.raises(tl.UsageError, match="max_rows= is for local tables"):
            verb(frame, frame, max_rows=5)
