"""Runs whose pages are looked at: one with every picture, one that failed, a stream, and one with very long texts."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from timeloom.model.period import Period
from timeloom.pipeline.tables.samples import show_sample
from timeloom.report.pictures.choice import Subject, picture_of
from timeloom.report.pictures.measures import LocalMeasures
from timeloom.report.record import RunRecord, SinkRecord, SourceRecord, StepRecord

PERIOD, OTHER = Period("start", "end"), Period("start_right", "end_right")
ZONED = pa.timestamp("us", "UTC")


def stays(rows, hours=7):
    """Rows of a little over a day each, one after the other."""
    starts = [datetime(2023, 1, 2, tzinfo=UTC) + timedelta(hours=hours * number) for number in range(rows)]
    return pa.table(
        {
            "room": [f"room {number % 5}" for number in range(rows)],
            "start": pa.array(starts, ZONED),
            "end": pa.array([start + timedelta(hours=hours) for start in starts], ZONED),
            "guests": [(number * 37 % 11) * (1 + number // 300) for number in range(rows)],
        }
    )


def pairs():
    """A few pairs of periods; the last has no end."""
    table = stays(9, 30)
    later = [start + timedelta(hours=11) for start in table["start"].to_pylist()]
    ends = [*(start + timedelta(hours=30) for start in later[:-1]), None]
    return table.append_column("start_right", pa.array(later, ZONED)).append_column("end_right", pa.array(ends, ZONED))


def result(name, table, periods, keys=("room",), **about):
    """The record of a sink, drawn as a run draws it."""
    record = SinkRecord(name, name, f"out/{name}", "parquet", "overwrite", table.num_rows, 12_345_678, 0.4)
    show_sample(record, table, periods, list(keys), about.get("counted"))
    subject = Subject(table.num_rows, next(iter(periods), None), **about)
    record.picture = picture_of(subject, LocalMeasures(table)) or record.picture
    return record


def whole():
    """A run with every kind of picture."""
    run = RunRecord("hotel", "hotel.yml", "local", {"timeloom": "1", "pyarrow": "2"}, seconds=12.5, status="done")
    run.sources = [
        SourceRecord("stays", "data/stays.csv", "csv", 1010, 1000, 8, 2, {"end is before start": 8, "room is null": 2}),
        SourceRecord("rates", "data/rates.parquet", "parquet", 40, 40, seconds=0.1),
    ]
    run.sources[0].quarantine, run.sources[0].seconds = "out/rejected/stays", 1.25
    plan = {"engine": "local", "algorithm": "forward_scan", "left rows": 1000, "why": ["one box bounds one axis"]}
    call = {"relation": "intersects", "on": "room", "left_period": "start, end"}
    run.steps = [
        StepRecord("pairs", "join", ["stays", "rates"], call, 9, 0, 3.25, plan),
        StepRecord("guests", "temporal_aggregate", ["stays"], {"aggregates": "guests: sum"}, 1000, 0, 2.0, plan),
        StepRecord("busy", "sql", ["stays"], {"sql": "select room, count(*) as stays from stays group by room"}, 5),
    ]
    busy = pa.table({"room": [f"room {number}" for number in range(5)], "stays": [200, 190, 7, 140, 60]})
    run.sinks = [
        result("guests", stays(1000), [PERIOD], (), measured="guests"),
        result("few", stays(12), [PERIOD], (), measured="guests"),
        result("stays", stays(1000), [PERIOD]),
        result("two_years", stays(2000), [PERIOD]),
        result("week", stays(200, 1), [PERIOD]),
        result("pairs", pairs(), [PERIOD, OTHER]),
        result("counts", stays(1000), [PERIOD], counted="guests"),
        result("busy", busy, []),
    ]
    run.sinks[0].title = "Guests in the house"
    return run.as_data()


def failed():
    """A run that failed early."""
    run = RunRecord("hotel", "hotel.yml", "spark", {"spark": "4.3.0"}, seconds=1.5, status="failed")
    run.error = "source 'stays' has unfit rows: 3 where end is before start (of 10) <script>alert(1)</script>"
    run.sources = [SourceRecord("stays", "data/stays.csv", "csv", 10, 7)]
    return run.as_data()


def stream():
    """A stream that was run once and holds results back."""
    run = RunRecord(
        "departures", "departures.yml", "spark", {"spark": "4.3.0"}, seconds=9, status="done", kind="stream"
    )
    run.hints = ["Results that depend on the last 0:01:00 before the newest event are held back."]
    run.sources = [SourceRecord("left", "in/left", "json", 120, 120), SourceRecord("right", "in/right", "json", 80, 80)]
    facts = {"batches": 3, "events in": 200, "events refused": 2, "results out": 40, "lag (s)": 60.0, "why": []}
    run.steps = [StepRecord("join", "stream_join", ["left", "right"], {"trigger": "available now"}, 40, 2, 9, facts)]
    run.steps[0].note = "2 × late: its instant was complete"
    run.sinks = [SinkRecord("join", "join", "out/pairs", "parquet", "append", 42, 5000, 9.0, refused=2)]
    return run.as_data()


def long_texts():
    """Names without a place to break them, and many columns."""
    name = "a_very_long_name_of_a_result_that_nobody_would_choose_but_somebody_will_" * 3
    columns = {f"{name}{number}": ["x" * 200] * 3 for number in range(30)}
    days = [date(2024, 1, number) for number in (1, 2, 3)]
    table = pa.table({**columns, "start": days, "end": [None, days[2], None]})
    run = RunRecord(name, f"{name}.yml", "local", {}, seconds=4000, status="done")
    run.sources = [SourceRecord(name, f"../../{name}/{name}", "parquet", 3, 3, seconds=1.0)]
    run.steps = [StepRecord(name, "sql", [name, name], {"sql": f"select {name} from {name}"}, 3, 0, 5.0)]
    run.sinks = [result(name, table, [PERIOD], [f"{name}0"])]
    return run.as_data()


PAGES = {"whole": whole, "failed": failed, "stream": stream, "long_texts": long_texts}
