"""`stab` on Spark returns the rows that it returns on local tables, and runs nothing before it is asked for."""

import datetime as dt
import io
import re
from contextlib import redirect_stdout

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark


def events(rows=200):
    starts = [(7 * row) % 50 for row in range(rows)]
    ends = [None if row % 31 == 0 else start + 1 + row % 6 for row, start in enumerate(starts)]
    return pa.table({"start": starts, "end": ends, "id": range(rows), "text": [str(row) for row in range(rows)]})


def ids(frame):
    return sorted(row["id"] for row in frame.collect())


@pytest.mark.parametrize("at", [[], [3, 3, 40], list(range(0, 60, 2))])
@pytest.mark.parametrize("on_invalid", ["error", "quarantine"])
def test_the_same_rows_as_locally(spark, at, on_invalid):
    table = events()
    expected = sorted(tl.stab(table, at=at)["id"].to_pylist())
    found = tl.stab(spark.createDataFrame(table).repartition(3), at=at, on_invalid=on_invalid)
    result = found.result if on_invalid == "quarantine" else found
    assert result.columns == table.column_names
    assert ids(result) == expected


def test_dates_closed_periods_and_odd_column_names(spark):
    day = dt.date(2024, 3, 1)
    rows = [(day, day + dt.timedelta(days=2), 0), (day + dt.timedelta(days=3), None, 1)]
    frame = spark.createDataFrame(rows, "`from.day` date, `to day` date, id int")
    period = tl.Period("from.day", "to day", closed="both")
    assert ids(tl.stab(frame, at="2024-03-03", period=period)) == [0]
    assert ids(tl.stab(frame, at=[day, dt.date(2030, 1, 1)], period=period)) == [0, 1]


def test_zoned_timestamps_do_not_depend_on_the_session_zone(spark):
    noon = dt.datetime(2024, 3, 10, 7, 30, tzinfo=dt.UTC)
    table = pa.table({"start": [noon], "end": [noon + dt.timedelta(hours=1)], "id": [5]})
    frame = spark.createDataFrame(table)
    assert ids(tl.stab(frame, at=noon)) == [5]
    assert ids(tl.stab(frame, at=[noon + dt.timedelta(hours=1)])) == []


def test_invalid_rows_follow_the_policy(spark):
    frame = spark.createDataFrame([(1, 4, 0), (None, 4, 1), (5, 2, 2)], "start int, end int, id int")
    with pytest.raises(Exception, match="at least 1 row of the input table has no usable period: 1 where .* Mend them"):
        tl.stab(frame, at=2).collect()
    with pytest.raises(Exception, match="in one task of stab, .* rows? of the input table ha.* no usable period"):
        tl.stab(frame, at=range(100)).collect()
    assert ids(tl.stab(frame, at=2, on_invalid="drop")) == [0]
    result, rejected = tl.stab(frame, at=2, on_invalid="quarantine")
    assert (ids(result), ids(rejected)) == ([0], [1, 2])


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("generated", ["true", "false"])
@pytest.mark.parametrize(
    ("period", "reason"),
    [((None, 4), "it's ${a} \\ 'b' is null ([null, 4])"), ((5, 2), "end is before it's ${a} \\ 'b'")],
)
def test_a_row_is_refused_in_sql_in_words_that_no_setting_changes(spark, changed, ansi, generated, period, reason):
    changed({"spark.sql.ansi.enabled": ansi, "spark.sql.codegen.wholeStage": generated})
    table = pa.table({"it's ${a} \\ 'b'": [1, period[0]], "end": [4, period[1]]})
    found = tl.stab(spark.createDataFrame(table), at=2, period=tuple(table.column_names))
    with pytest.raises(Exception, match=re.escape(reason)):
        found.collect()


@pytest.mark.parametrize(
    ("options", "rows"),
    [({"empty": "point"}, [0, 1]), ({"on_invalid": "quarantine"}, [0]), ({"empty": "drop"}, [0])],
)
def test_empty_periods_follow_the_policy(spark, options, rows):
    frame = spark.createDataFrame([(1, 4, 0), (2, 2, 1)], "start int, end int, id int")
    found = tl.stab(frame, at=2, **options)
    assert ids(found.result if "on_invalid" in options else found) == rows
    with pytest.raises(Exception, match="the period is empty: start equals end"):
        tl.stab(frame, at=2).collect()


@pytest.mark.parametrize(
    ("at", "options", "tasks"), [([2], {}, 0), ([2], {"on_invalid": "drop"}, 1), (list(range(17)), {}, 1)]
)
def test_few_instants_need_no_task(spark, at, options, tasks):
    text = io.StringIO()
    with redirect_stdout(text):
        tl.stab(spark.createDataFrame(events()), at=at, **options).explain()
    assert text.getvalue().count("MapInArrow") == tasks


def test_nothing_runs_before_an_action(spark):
    broken = (
        spark.range(5)
        .selectExpr("id", "raise_error('ran') AS start", "id AS end")
        .selectExpr("id", "CAST(start AS BIGINT) AS start", "end")
    )
    tl.stab(broken, at=3)
    with pytest.raises(tl.UsageError, match="does not fit"):
        tl.stab(broken, at="noon")
