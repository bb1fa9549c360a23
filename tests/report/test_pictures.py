"""Pictures of results: measures are those of brute force, on both engines, and what fits is chosen."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.model.period import Period
from timeloom.model.ticks import Axis
from timeloom.pipeline.tables.samples import show_sample
from timeloom.report.pictures.cells import Cells
from timeloom.report.pictures.choice import MOST_LANES, Subject, picture_of
from timeloom.report.pictures.measures import FEW, LocalMeasures
from timeloom.report.pictures.views import lanes_view, view
from timeloom.report.record import SinkRecord

PERIOD = Period("start", "end")
ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(-3, 3)), min_size=1, max_size=12)
LEAST, MOST = -(2**63), 2**64 - 1


def table(rows):
    return pa.table(
        {"start": [s for s, _, _ in rows], "end": [s + n for s, n, _ in rows], "v": [v for _, _, v in rows]},
        pa.schema([("start", pa.int64()), ("end", pa.int64()), ("v", pa.int64())]),
    )


def year(rows=1000, day=date(2023, 1, 2)):
    """Rows that begin every eight hours for most of a year, with a fault and an open end."""
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    starts = [begin + timedelta(hours=8 * number) for number in range(rows)]
    ends = [start + timedelta(hours=9) for start in starts]
    ends[5], ends[7] = None, starts[7] - timedelta(hours=1)
    kind = pa.timestamp("us", "UTC")
    return pa.table({"start": pa.array(starts, kind), "end": pa.array(ends, kind), "v": [n % 7 for n in range(rows)]})


@given(ROWS)
def test_bands_have_the_extremes_and_the_mean_of_what_is_in_them(rows):
    rows = [(start, max(length, 1), value) for start, length, value in rows]
    measures = LocalMeasures(table(rows))
    extent = measures.extent(PERIOD)
    assert (extent.first, extent.last) == (min(s for s, _, _ in rows), max(s + n for s, n, _ in rows))
    bands = measures.bands(PERIOD, "v", extent)
    for number, (low, high) in enumerate(zip(bands.starts, bands.ends, strict=True)):
        within = [(v, min(s + n, high) - max(s, low)) for s, n, v in rows if s < high and low < s + n]
        assert bands.least[number] == min(v for v, _ in within)
        assert bands.greatest[number] == max(v for v, _ in within)
        if bands.mean is not None:
            mean = sum(v * time for v, time in within) / sum(time for _, time in within)
            assert bands.mean[number] == pytest.approx(mean)
    best = max(v for _, _, v in rows)
    assert bands.top[0] == best
    assert bands.top[1] == min(s for s, _, v in rows if v == best)


@given(ROWS)
def test_touching_rows_are_counted(rows):
    measures = LocalMeasures(table(rows))
    extent = measures.extent(PERIOD)
    cells = Cells.over(extent.first, extent.last, Axis.INTEGER)
    counts = measures.touching(PERIOD, cells)
    for number, count in enumerate(counts):
        low = cells.origin + number * cells.width
        assert count == sum(s < low + cells.width and low < s + max(n, 1) for s, n, _ in rows)


def test_each_result_has_the_picture_that_fits():
    def kind(rows, **about):
        picture = picture_of(Subject(rows.num_rows, PERIOD, **about), LocalMeasures(rows))
        return picture and picture["kind"]

    assert kind(year(), measured="v") == "steps"
    assert kind(year()) == "days"
    assert kind(year(30)) == "density"
    assert kind(year(MOST_LANES)) == "lanes"
    assert kind(year(), counted="v") == "histogram"
    assert kind(table([(n, 1, 0) for n in range(1000)])) == "density"
    assert kind(year(30).slice(0, 0)) is None
    assert kind(year(30).slice(7, 1)) is None


def test_a_calendar_has_every_row_on_its_day_and_tells_of_those_without():
    picture = picture_of(Subject(1000, PERIOD), LocalMeasures(year()))
    assert (picture["rows"], picture["without"], sum(count for _, count in picture["days"])) == (999, 1, 999)
    drawn = view(picture)
    cells = [cell for strip in drawn["strips"] for cell in strip["cells"]]
    assert [cell["title"] for cell in cells[:3]] == ["Mon 2 Jan 2023: 3", "Tue 3 Jan 2023: 3", "Wed 4 Jan 2023: 2"]
    assert len(cells) == 334
    assert (cells[0]["y"], cells[2]["shade"] < cells[0]["shade"]) == (0, True)
    assert len(view(picture_of(Subject(1200, PERIOD), LocalMeasures(year(1200))))["strips"]) == 2


def test_few_steps_are_drawn_as_they_are_and_many_keep_their_peak():
    few = picture_of(Subject(3, PERIOD, "v"), LocalMeasures(table([(0, 2, 1), (2, 3, 4), (9, 1, 2)])))
    assert (few["starts"], few["ends"], few["greatest"], few["mean"]) == ([0, 2, 9], [2, 5, 10], [1, 4, 2], None)
    drawn = view(few)
    assert drawn["line"].count("M") == 2  # it breaks where nothing is
    assert drawn["top"]["value"] == "4"
    rows = [(n * 10, 1, 99 if n == 777 else 1) for n in range(FEW * 3)]
    many = picture_of(Subject(len(rows), PERIOD, "v"), LocalMeasures(table(rows)))
    assert len(many["starts"]) <= 401
    assert (max(many["greatest"]), many["top"]) == (99, (99, 7770, 7771))


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["zoned", "integer", "date"])
def test_both_engines_measure_alike(spark, kind):
    rows = {
        "zoned": year(700),
        "integer": table([(n * 7 % 5000, n % 90, n % 13) for n in range(900)]),
        "date": pa.table(
            {
                "start": [date(2020, 1, 1) + timedelta(days=n % 900) for n in range(600)],
                "end": [date(2020, 1, 3) + timedelta(days=n % 900) for n in range(600)],
                "v": [n % 5 for n in range(600)],
            }
        ),
    }[kind]
    from timeloom.report.pictures.spark import SparkMeasures

    ours, theirs = LocalMeasures(rows), SparkMeasures(spark.createDataFrame(rows))
    for about in ({}, {"measured": "v"}, {"counted": "v"}):
        subject = Subject(rows.num_rows, PERIOD, **about)
        one, other = picture_of(subject, ours), picture_of(subject, theirs)
        means = [picture.pop("mean", None) for picture in (one, other)]
        assert one == other
        assert means[0] == means[1] or means[0] == pytest.approx(means[1])


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
def test_samples_of_every_period_type_are_exact_and_can_be_drawn(kind, starts):
    column = pa.array(starts, kind)
    record = SinkRecord("s", "s", "p", "parquet", "overwrite", rows=3)
    show_sample(record, pa.table({"start": column, "end": column, "who": ["a", "b", "c"]}), [PERIOD])
    assert len(record.bars) == sum(start is not None for start in starts)
    assert all(isinstance(bar["spans"][0]["start"], int) for bar in record.bars)
    if kind in (pa.int64(), pa.uint64()):
        assert sorted(bar["spans"][0]["start"] for bar in record.bars) == sorted(starts)
    drawn = lanes_view(record.bars)
    assert all(0 <= span["left"] <= 100 for row in drawn["rows"] for span in row["spans"])


def test_values_that_python_does_not_have_are_no_reason_to_fail():
    far = pa.array([[2**62], None, [0]], pa.list_(pa.timestamp("us")))
    record = SinkRecord("s", "s", "p", "parquet", "overwrite", rows=3)
    show_sample(record, pa.table({"far": far, "start": [1, 2, 3], "end": [2, 3, 4]}), [PERIOD])
    assert [row[0] for row in record.sample] == ["…", "…", "…"]
    assert len(record.bars) == 3


def test_labels_are_keys_and_one_more_where_keys_are_not_enough():
    rows = pa.table(
        {"note": ["x", "y", "z"], "load": [0.5, 1.5, 2.5], "who": ["a", "a", "b"], "start": [1, 2, 3], "end": [2, 3, 4]}
    )

    def labels(keys):
        record = SinkRecord("s", "s", "p", "parquet", "overwrite", rows=3)
        show_sample(record, rows, [PERIOD], keys)
        return [bar["label"] for bar in record.bars]

    assert labels(["who"]) == ["a · x", "a · y", "b · z"]
    assert labels(["note"]) == ["x", "y", "z"]
    assert labels([]) == ["x · a", "y · a", "z · b"]


def test_a_small_table_without_periods_is_ranked_by_its_number():
    record = SinkRecord("s", "s", "p", "parquet", "overwrite", rows=2)
    show_sample(record, pa.table({"who": ["a", "b"], "calls": [3, -1]}), [], ["who"])
    assert record.picture == {"kind": "bars", "value": "calls", "rows": [("a", 3), ("b", -1)]}
    assert [(row["width"], row["less"]) for row in view(record.picture)["rows"]] == [(100, False), (100 / 3, True)]
