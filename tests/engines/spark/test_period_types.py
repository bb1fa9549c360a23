"""Period types and invalid rows on Spark: the same answers, types and refusals as on local tables."""

import warnings
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException, SparkRuntimeException

import timeloom as tl
from reference.period_rows import Refused, admitted, verdict

pytestmark = pytest.mark.spark

ROWS = [(0, 4), (None, 5), (6, 2), (3, 3), (8, 9), (1, None)]
KINDS = {
    "byte": (lambda tick: tick, pa.int8()),
    "int": (lambda tick: tick, pa.int32()),
    "bigint": (lambda tick: tick, pa.int64()),
    "date": (lambda tick: date(2024, 3, 1) + timedelta(days=tick), pa.date32()),
    "timestamp": (lambda tick: datetime(2024, 3, 9, tzinfo=UTC) + timedelta(hours=tick), pa.timestamp("us", "UTC")),
    "timestamp_ntz": (lambda tick: datetime(2024, 3, 9) + timedelta(hours=tick), pa.timestamp("us")),
}


def rows_of(kind, rows=ROWS, end_kind=None):
    make, start_type = KINDS[kind]
    make_end, end_type = KINDS[end_kind or kind]
    return pa.table(
        {
            "start": pa.array([None if start is None else make(start) for start, _ in rows], start_type),
            "end": pa.array([None if end is None else make_end(end) for _, end in rows], end_type),
            "id": pa.array(range(len(rows)), pa.int64()),
        }
    )


def frame_of(spark, kind, table, end_kind=None):
    frame = spark.createDataFrame(table, f"start {kind}, end {end_kind or kind}, id bigint")
    return frame.coalesce(1)


def plain(table):
    def value(part):
        return part.astimezone(UTC) if isinstance(part, datetime) and part.tzinfo else part

    return sorted(repr({name: value(part) for name, part in row.items()}) for row in table.to_pylist())


def locally(verb, *tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.DroppedRowsWarning)
        return verb(*tables, **options)


SEQUENCED = {
    "coalesce": lambda rows, **options: tl.coalesce(rows, by=[], **options),
    "gaps": tl.gaps,
    "depth": tl.depth,
    "temporal_aggregate": lambda rows, **options: tl.temporal_aggregate(rows, {"n": ("id", "sum")}, **options),
}


@pytest.mark.parametrize("kind", ["byte", "date", "timestamp_ntz"])
def test_null_starts_are_dropped_or_refused_in_every_type(spark, kind):
    table = rows_of(kind)
    frame = frame_of(spark, kind, table)
    for name, verb in SEQUENCED.items() if kind == "byte" else [("depth", tl.depth), ("gaps", tl.gaps)]:
        options = {"period": tl.Period(closed="both"), "on_invalid": "drop"}
        assert plain(verb(frame, **options).toArrow()) == plain(locally(verb, table, **options)), name
    with pytest.raises(PythonException, match=r"1 where start is null \(\[null, "):
        tl.depth(frame, period=tl.Period(closed="both")).collect()


ONE = pa.table({"start": [0], "end": [20], "other": [7]})


VERBS = {
    "coalesce": lambda rows, other, **options: tl.coalesce(rows, by="id", **options),
    "join": lambda rows, other, **options: tl.join(rows, other, columns=["id"], **options),
    "temporal_antijoin": lambda rows, other, **options: tl.temporal_antijoin(
        rows, other.where("other = 1"), columns=["id"], **options
    ),
    "stab": lambda rows, other, **options: tl.stab(rows, [0, 1, 3, 8], **options),
    "count_join": tl.count_join,
}
EMPTIES = (None, "error", "drop", "point")
CHOICES = [(on_invalid, empty) for on_invalid in ("quarantine", "drop", "error") for empty in EMPTIES]


@pytest.mark.parametrize("verb", VERBS)
def test_invalid_and_empty_rows_are_treated_each_as_its_option_says(spark, verb):
    choices = CHOICES if verb == "coalesce" else CHOICES[1:3]
    valid = [row for row in ROWS if verdict(row, "left") in ("valid", "empty")]
    frames = {rows: frame_of(spark, "bigint", rows_of("bigint", list(rows))) for rows in (tuple(ROWS), tuple(valid))}
    other = spark.createDataFrame(ONE).coalesce(1)
    for on_invalid, empty in choices:
        rows = tuple(valid if on_invalid == "error" else ROWS)
        frame = frames[rows]
        answer = VERBS[verb](frame, other, on_invalid=on_invalid, empty=empty)
        result = answer.result if on_invalid == "quarantine" else answer
        try:
            kept, _, quarantined = admitted(rows, "left", on_invalid, empty)
        except Refused:
            in_sql = verb == "stab" and empty != "drop"
            words = "has no usable period" if in_sql else "have no usable period"
            with pytest.raises(SparkRuntimeException if in_sql else PythonException, match=words):
                result.collect()
            continue
        assert sorted(row.id for row in result.select("id").collect()) == [at for at, _ in kept], (on_invalid, empty)
        if on_invalid == "quarantine" and verb == "coalesce":
            assert sorted(row.id for row in answer.rejected.collect()) == quarantined, empty


def test_a_join_that_is_searched_in_sql_refuses_empty_periods_beside_quarantined_rows(spark, searched):
    frame, other = frame_of(spark, "bigint", rows_of("bigint")), spark.createDataFrame(ONE).coalesce(1)
    columns, options = ["id", "other"], {"on_invalid": "quarantine", "strategy": "broadcast"}
    with pytest.raises(Exception, match="the period is empty"):
        tl.join(frame, other, columns=columns, empty="error", **options).result.collect()
    found = tl.join(frame, other, columns=columns, empty="point", **options)
    assert sorted(row.id for row in found.result.collect()) == [0, 3, 4, 5]


def test_a_point_at_the_last_tick_is_refused(spark):
    table = pa.table({"start": [2**63 - 1, 5], "end": [2**63 - 1, 5], "id": [0, 1]})
    frame = frame_of(spark, "bigint", table)
    with pytest.raises(PythonException, match="1 where start is the last tick of all"):
        tl.coalesce(frame, empty="point").collect()
    assert [row.id for row in tl.coalesce(frame, empty="point", on_invalid="drop").collect()] == [1]
    assert [row.id for row in tl.stab(frame, 5, empty="point", on_invalid="drop").collect()] == [1]


def test_widths_that_differ_have_the_same_type_in_the_result_as_locally(spark):
    left, right = rows_of("byte", ROWS[:1], "int"), rows_of("bigint", ROWS[-2:])
    frames = frame_of(spark, "byte", left, "int"), frame_of(spark, "bigint", right)
    period = {"left_period": tl.Period(closed="both"), "right_period": tl.Period()}
    two = {
        "join": lambda a, b: tl.join(a, b, how="full", overlap=True, **period),
        "temporal_join": lambda a, b: tl.temporal_join(a, b, how="full", **period),
        "temporal_antijoin": lambda a, b: tl.temporal_antijoin(a, b, **period),
    }
    for name, verb in two.items():
        found, wanted = verb(*frames).toArrow(), verb(left, right)
        assert plain(found) == plain(wanted), name
        assert found.schema.types == wanted.schema.types, name
    for name, verb in SEQUENCED.items():
        found, wanted = verb(frames[0]).toArrow(), verb(left)
        assert plain(found) == plain(wanted), name
        assert found.schema.field("start").type == wanted.schema.field("start").type == pa.int32(), name


def test_results_that_do_not_fit_and_instants_of_another_axis_are_refused(spark):
    frame = frame_of(spark, "byte", rows_of("byte", ROWS[:1]))
    with pytest.raises(PythonException, match="column 'end' of the result is int8, which cannot hold 300"):
        tl.gaps(frame, within=(0, 300)).collect()
    for bad in (date(2024, 1, 1), np.datetime64("2024-01-01"), "5", 5.0, True):
        for call in (
            lambda bad=bad: tl.gaps(frame, within=(bad, 300)),
            lambda bad=bad: tl.stab(frame, bad),
            lambda bad=bad: tl.coalesce(frame, period=tl.Period(open_end=bad)),
        ):
            with pytest.raises(tl.UsageError, match="does not fit the period's type int8"):
                call()
