"""Pictures: what is drawn is what the table has, peaks included, and files need nothing from elsewhere."""

import re
from datetime import date
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from timeloom.cli import main
from timeloom.plots.reduction import BUCKETS, MOST, bucketed, edges, packed

SHIFTS = pa.table(
    {
        "who": ["Ann", "Bob", "Cid"],
        "start": [date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 9)],
        "end": [date(2024, 1, 5), None, date(2024, 1, 11)],
    }
)
VERSIONS = pa.table({"sys_start": [1, 3], "sys_end": [3, None], "app_start": [10, 10], "app_end": [None, 14]})
PERIODS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5), st.integers(-3, 3)), min_size=1, max_size=12)


def many(rows=2000):
    """Rows of one tick, and one moment at which a hundred are active: a peak far narrower than a pixel."""
    starts = np.concatenate([np.arange(rows) * 1000, np.full(99, 777_000)])
    return pa.table({"start": starts, "end": starts + 1, "n": np.arange(starts.size)})


def values(plot, layer=0):
    return plot.spec["layer"][layer]["data"]["values"]


def test_few_periods_are_bars_in_lanes_and_open_ends_reach_beyond_all():
    plot = tl.plot(SHIFTS, color="who")
    bars = values(plot)
    assert (plot.kind, [bar["lane"] for bar in bars], [bar["color"] for bar in bars]) == (
        "lanes",
        [0, 1, 0],
        ["Ann", "Bob", "Cid"],
    )
    assert bars[0]["start"] == 1_704_067_200_000
    assert bars[1]["end"] > bars[2]["end"]
    assert "3 rows in 2 lanes" in repr(plot)


def test_labels_of_times_tell_the_day():
    times = np.arange("2024-01-01T06", "2024-01-11T06", 6, "datetime64[h]").astype("datetime64[us]")
    plot = tl.plot(pa.table({"start": times[:-1], "end": times[1:], "who": ["Ann"] * (len(times) - 1)}))
    assert [day for day in ("2 Jan 2024", "4 Jan", "10 Jan") if f">{day}</text>" not in plot.svg()] == []
    assert ">12:00</text>" not in plot.svg()


def test_a_value_over_time_is_drawn_as_steps():
    depths = tl.depth(SHIFTS)
    plot = tl.plot(depths)
    assert (plot.kind, [row["value"] for row in values(plot)]) == ("steps", depths["depth"].to_pylist())
    for lanes in (
        tl.plot(depths, kind="lanes"),
        tl.plot(SHIFTS),
        tl.plot(pa.table({"n": [1], "start": [1], "end": [2]})),
    ):
        assert lanes.kind == "lanes"
    overlapping = pa.table({"start": [0, 1], "end": [5, 6], "n": [1, 2]})
    assert tl.plot(overlapping).kind == "lanes"


def test_groups_have_lanes_of_their_own_with_their_names():
    rows = pa.table({"room": ["b", None, "b", "'a\"]"], "start": [0, 0, 1, 0], "end": [4, 2, 3, 9]})
    plot = tl.plot(rows, by="room", color="room")
    assert [bar["lane"] for bar in values(plot)] == [0, 2, 1, 3]
    axis = plot.spec["layer"][0]["encoding"]["y"]["axis"]
    assert axis["values"] == [0, 2, 3]
    assert [name for name in ("b", "None", "'a\"]") if f">{name}</text>" not in plot.svg()] == []


def test_instants_are_wide_enough_to_be_seen():
    instants = pa.table({"at": [0, 500_000, 1_000_000]})
    bars = values(tl.plot(instants, period="at", width=500))
    assert [round(bar["end"] - bar["start"]) for bar in bars] == [4000, 4000, 4000]


@given(PERIODS)
def test_lanes_never_overlap_and_are_as_few_as_rows_are_deep(rows):
    starts = np.array([start for start, _, _ in rows])
    ends = starts + np.array([length for _, length, _ in rows])
    lanes = packed(starts, ends)
    deepest = max(sum(s <= at < e for s, e in zip(starts, ends, strict=True)) for at in range(18))
    assert max(lanes) + 1 == deepest
    for one, other in ((a, b) for a in range(len(rows)) for b in range(a)):
        assert lanes[one] != lanes[other] or starts[one] >= ends[other] or starts[other] >= ends[one]


@given(PERIODS)
def test_buckets_have_the_extremes_of_what_reaches_into_them(rows):
    starts = np.array([start for start, _, _ in rows])
    ends = starts + np.array([length for _, length, _ in rows])
    numbers = np.array([float(value) for _, _, value in rows])
    found = bucketed(starts, ends, numbers)
    for at in range(len(found["starts"])):
        low, high = found["starts"][at], found["ends"][at]
        within = [v for s, e, v in zip(starts, ends, numbers, strict=True) if s < high and low < e]
        assert (found["least"][at], found["greatest"][at]) == (min(within), max(within))
    assert max(found["greatest"]) == numbers.max()


def test_many_periods_are_a_density_that_keeps_the_narrowest_peak():
    plot = tl.plot(many())
    assert plot.kind == "density"
    assert "not told apart by 'n'" in repr(tl.plot(many(), by="n"))
    assert len(values(plot)) <= BUCKETS
    assert max(row["greatest"] for row in values(plot)) == 100
    assert edges(0, 3).tolist() == [0, 1, 2, 3]


def test_values_are_steps_or_a_histogram():
    steps = tl.plot(tl.depth(SHIFTS), value="depth")
    assert (steps.kind, [row["value"] for row in values(steps)]) == ("steps", [1, 2, 1, 2, 1])
    assert tl.plot(many(), value="n").kind == "band"
    bars = values(tl.plot(pa.table({"count": [1, 1, 2, 7]}), value="count"))
    assert [(bar["low"], bar["high"], bar["rows"]) for bar in bars] == [(0.5, 1.5, 2), (1.5, 2.5, 1), (6.5, 7.5, 1)]
    wide = values(tl.plot(pa.table({"count": range(123)}), value="count"))
    assert {bar["rows"] for bar in wide[:-1]} == {4}


def test_pairs_are_bars_of_both_sides_joined_by_lines():
    left = pa.table({"who": ["Ann", "Bob"], "start": [1, 4], "end": [5, 9]})
    right = pa.table({"job": ["a", "b", "c"], "start": [0, 4, 8], "end": [2, 5, None]})
    plot = tl.plot(tl.join(left, right))
    lines, bars = values(plot), values(plot, 1)
    assert (plot.kind, len(lines), len(bars)) == ("pairs", 4, 5)
    assert "4 pairs of 2 and 3 periods" in repr(plot)
    lanes = {
        side: {bar["lane"] for bar in bars if bar["side"] == side}
        for side in ("start – end", "start_right – end_right")
    }
    assert max(lanes["start – end"]) < min(lanes["start_right – end_right"])
    assert {(line["left"], line["right"]) for line in lines} == {(3, 1), (3, 4.5), (6.5, 4.5), (6.5, 8.5)}
    assert tl.plot(tl.join(left, right), color="who").kind == "lanes"
    assert plot.svg().count("<path") + plot.svg().count("<line") > 8


def test_a_density_is_filled_to_zero_where_nothing_changes():
    starts = np.arange(2000) * 10
    plot = tl.plot(pa.table({"start": starts, "end": starts + 10}))
    filled, band = plot.spec["layer"][0]["encoding"], plot.spec["layer"][1]["encoding"]
    assert (filled["y"]["field"], filled["y2"]) == ("least", {"datum": 0})
    assert (band["y"]["field"], band["y2"]["field"]) == ("greatest", "least")


def test_versions_are_rectangles_with_a_window():
    plot = tl.plot(VERSIONS, window=((2, 4), (11, 13)))
    assert plot.kind == "rectangles"
    assert values(plot, 1) == [{"sys_start": 2, "sys_end": 4, "app_start": 11, "app_end": 13}]
    coloured = tl.plot(VERSIONS.append_column("fee", pa.array([5, 7])), color="fee")
    assert [row["color"] for row in values(coloured)] == [5, 7]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.plot(SHIFTS, "steps"), "needs value="),
        (lambda: tl.plot(SHIFTS, value="who"), "expected numbers"),
        (lambda: tl.plot(SHIFTS, color="what"), "no column 'what'"),
        (lambda: tl.plot(SHIFTS, "pie"), "kind.*pie"),
        (lambda: tl.plot(tl.depth(SHIFTS), value="depth", by="depth"), "by= is for lanes, and this picture is of kind"),
        (lambda: tl.plot(SHIFTS, window=((1, 2), (3, 4))), "window= is for rectangles"),
        (lambda: tl.plot(VERSIONS, "rectangles", value="sys_start"), "value= is for steps and histogram"),
        (lambda: tl.plot(pa.table({"start": [5], "end": [1]})), "end is before start"),
        (lambda: tl.plot(SHIFTS).save("picture.gif"), "no suffix of a picture"),
        (lambda: tl.plot(pa.concat_tables([VERSIONS] * MOST)), "hide each other"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(tl.TimeloomError, match=words):
        call()


def test_pictures_are_whole_files(tmp_path):
    plot = tl.plot(SHIFTS, title="who <works>")
    for suffix in ("svg", "png", "html"):
        plot.save(tmp_path / f"x.{suffix}")
    assert ElementTree.parse(tmp_path / "x.svg").getroot().tag.endswith("svg")
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "x.html").read_text()
    assert not re.search(r"<script[^>]+src=|<link\b", page)
    assert "who &lt;works>" in plot._repr_html_() or "who &lt;works&gt;" in plot._repr_html_()


def test_the_command_draws_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shifts.csv").write_text("who,start,end\nAnn,1,5\nBob,3,9\n")
    (tmp_path / "versions.csv").write_text("sys_start,sys_end,app_start,app_end\n1,3,10,12\n3,,10,14\n")
    assert main(["plot", "shifts.csv", "--color", "who", "-o", "x.svg"]) == 0
    assert "Plot(lanes: periods; 2 rows in 2 lanes) to x.svg" in capsys.readouterr().err
    assert main(["plot", "versions.csv", "--window", "2,4,11,13", "-o", "y.json"]) == 0
    assert main(["plot", "versions.csv", "--window", "2,4", "-o", "y.json"]) == 2


@pytest.mark.spark
def test_large_frames_are_drawn_from_aggregates(spark):
    table = many()
    frame = spark.createDataFrame(table)
    for options in ({}, {"value": "n"}):
        ours, theirs = tl.plot(frame, **options), tl.plot(table, **options)
        assert (ours.kind, values(ours)) == (theirs.kind, values(theirs))
    counted = table.select(["n"])
    assert values(tl.plot(spark.createDataFrame(counted), value="n")) == values(tl.plot(counted, value="n"))
    assert tl.plot(spark.createDataFrame(VERSIONS)).spec == tl.plot(VERSIONS).spec
    wrong = spark.createDataFrame(pa.concat_tables([table, pa.table({"start": [5], "end": [1], "n": [0]})]))
    with pytest.raises(tl.InvalidInputError, match="1 rows have no period"):
        tl.plot(wrong, value="n")


def test_rows_that_cannot_be_drawn_are_refused_with_what_can_be_done_here():
    bad = pa.table({"start": [5], "end": [2]})
    for call in (tl.plot, tl.StabForest.build, lambda rows: tl.BitemporalTable(key="start").insert(rows, sys=1)):
        with pytest.raises(tl.TimeloomError) as told:
            call(bad)
        assert "on_invalid" not in str(told.value)
    with pytest.raises(tl.InvalidInputError, match="end is before start .*leave them out before; tl.check lists them"):
        tl.plot(bad)
