"""The picture of a report: it always ends, whatever the periods."""

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timeloom.model.period import Period
from timeloom.pipeline.tables.samples import show_sample
from timeloom.report.record import SinkRecord
from timeloom.report.timeline import draw, grid, step_of

LEAST, MOST = -(2**63), 2**64 - 1
TICKS = st.integers(LEAST, MOST)


@given(TICKS, st.one_of(st.integers(1, 10), TICKS.map(abs)), st.booleans())
@example(1_700_000_000_000_000_000, 1, False)
@example(LEAST, MOST - LEAST, False)
@example(LEAST, MOST - LEAST, True)
def test_the_grid_has_few_lines_on_round_numbers(low, spread, is_time):
    high = low + max(spread, 1)
    lines = grid(low, high, is_time=is_time)
    step = step_of(high - low, is_time=is_time)
    assert len(lines) <= 7
    assert all(low <= line <= high and line % step == 0 for line in lines)
    assert step >= 1
    assert step < 3 * max(1, -(-(high - low) // 6))


@given(st.lists(st.tuples(TICKS, st.one_of(st.none(), TICKS)), min_size=1, max_size=4), st.booleans())
@example([(1_700_000_000_000_000_000, 1_700_000_000_000_000_001)], False)
@example([(5, 5)], True)
def test_every_sample_can_be_drawn(ends, is_time):
    spans = [{"start": start, "end": end, "text": "", "time": is_time} for start, end in ends]
    picture = draw([{"label": "x", "spans": [span]} for span in spans])
    assert picture.count("<rect") == len(ends)
    assert picture.count("<line") <= 7
    assert "nan" not in picture
    assert "inf" not in picture


@pytest.mark.parametrize(
    ("kind", "starts"),
    [
        (pa.int64(), [1_700_000_000_000_000_000, 1_700_000_000_000_000_001, LEAST]),
        (pa.uint64(), [MOST, 0, 1]),
        (pa.timestamp("ns", "UTC"), [1, 1_700_000_000_000_000_001, LEAST + 1]),
        (pa.timestamp("us"), [LEAST + 1, 2**63 - 1, 0]),
        (pa.timestamp("s"), [-(2**40), 2**40, 0]),
        (pa.timestamp("ms", "America/New_York"), [0, 1, 2]),
        (pa.date32(), [-(2**31), 2**31 - 1, 0]),
        (pa.date64(), [0, 86_400_000, None]),
    ],
    ids=str,
)
def test_samples_of_every_period_type_are_exact(kind, starts):
    column = pa.array(starts, kind)
    record = SinkRecord("s", "s", "p", "parquet", "overwrite")
    show_sample(record, pa.table({"start": column, "end": column, "who": ["a", "b", "c"]}), [Period("start", "end")])
    assert len(record.bars) == sum(start is not None for start in starts)
    assert all(isinstance(bar["spans"][0]["start"], int) for bar in record.bars)
    if kind in (pa.int64(), pa.uint64()):
        assert sorted(bar["spans"][0]["start"] for bar in record.bars) == sorted(starts)
    assert "<svg" in draw(record.bars)


def test_values_that_python_does_not_have_are_no_reason_to_fail():
    far = pa.array([[2**62], None, [0]], pa.list_(pa.timestamp("us")))
    record = SinkRecord("s", "s", "p", "parquet", "overwrite")
    show_sample(record, pa.table({"far": far, "start": [1, 2, 3], "end": [2, 3, 4]}), [Period("start", "end")])
    assert [row[0] for row in record.sample] == ["…", "…", "…"]
    assert len(record.bars) == 3
