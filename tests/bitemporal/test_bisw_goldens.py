"""Every worked example of the bitemporal sliding windows thesis, figures 2.1 to 4.9 and tables 4.1 to 4.3."""

from datetime import date
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.model.slide import Slide
from tree import worked_examples

CASES = worked_examples("bisw")


def column(rows, at):
    return pa.array([None if row[at] == "inf" else row[at] for row in rows], pa.int64())


def table_of(case):
    columns, rows = case["input"]["columns"], case["input"]["table"]
    names = {"StartApp": "app_start", "EndApp": "app_end", "StartSys": "sys_start", "EndSys": "sys_end", "ID": "ID"}
    return pa.table({names[name]: column(rows, k) for k, name in enumerate(columns) if name in names})


def one_axis(rows):
    """A table with system time only: always valid in application time."""
    ends = column(rows, 2)
    return pa.table(
        {
            "ID": column(rows, 0),
            "sys_start": column(rows, 1),
            "sys_end": ends,
            "app_start": [0] * len(rows),
            "app_end": pa.array([None] * len(rows), pa.int64()),
        }
    )


def case_and_index(name, **options):
    case = CASES[name]
    table = table_of(case)
    return case, BitemporalIndex(table, **options), np.asarray(table["ID"])


def events(cells, ids, *by):
    """Group the events of cells: [time…, [signed ids, invalidations first]]."""
    groups = {}
    for cell in cells.to_pylist():
        signed = int(ids[cell["row"]]) * cell["change"]
        groups.setdefault(tuple(cell[name] for name in by), []).append(signed)
    return [[*key, sorted(found)] for key, found in sorted(groups.items())]


def net(groups):
    """Cancel opposite signs within each group; empty groups vanish."""
    kept = [[*key, sorted(e for e in found if -e not in found)] for *key, found in groups]
    return [group for group in kept if group[-1]]


def deltas(query, ids):
    return [
        {
            "delta": sorted([-int(ids[row]) for row in step.left] + [int(ids[row]) for row in step.entered]),
            "valid": ids[step.valid()].tolist(),
        }
        for step in query
    ]


def window(bounds, slide):
    return Slide(bounds[0], bounds[1] - bounds[0], slide)


def test_figure_2_1_rows():
    case, index, _ = case_and_index("BISW-fig2.1-table")
    assert len(index) == case["expected"]["rows"]
    assert list(index.rows(np.array([6])).select(["sys_start", "sys_end"]).to_pylist()[0].values()) == [106, 108]
    assert index.rows(np.array([7]))["sys_start"].to_pylist() == [case["expected"]["row8_inserted"]]


def test_figure_2_2_snapshots_by_system_time():
    case, index, ids = case_and_index("BISW-fig2.2-snapshots")
    for sys in case["input"]["sys"]:
        seen = {row for app in range(9, 20) for row in index.as_of(sys=sys, app=app)}
        assert sorted(ids[sorted(seen)].tolist()) == case["expected"][str(sys)]


def test_visibility_at_points():
    case, index, ids = case_and_index("BISW-2.4-visible")
    found = [ids[index.as_of(sys=sys, app=app)].tolist() for sys, app in case["input"]["points"]]
    assert found == case["expected"]


@pytest.mark.parametrize("name", ["BISW-fig3.3-timeline", "BISW-A.1-btree"])
def test_figure_3_3_and_a_1_system_timeline(name):
    case = CASES[name]
    table = one_axis(case["input"]["rows"])
    index, ids = BitemporalIndex(table), np.asarray(table["ID"])
    for sys, expected, *visible in case["expected"]:
        assert events(index.cells(sys=(sys, sys)), ids, "sys") == [[sys, expected]]
        for rows in visible:
            assert ids[index.as_of(sys=sys, app=0)].tolist() == rows


def test_figure_3_2_physical_timeline():
    case = CASES["BISW-fig3.2-physical"]
    table = one_axis(case["input"]["rows"])
    index, ids = BitemporalIndex(table), np.asarray(table["ID"])
    found = index.cells().sort_by([("sys", "ascending"), ("change", "ascending")]).to_pylist()
    assert [[int(ids[cell["row"]]), int(cell["change"] > 0)] for cell in found] == case["expected"]["event_list"]
    offsets = [[sys, sum(cell["sys"] <= sys for cell in found)] for sys, _ in case["expected"]["version_map"]]
    assert offsets == case["expected"]["version_map"]


@pytest.mark.parametrize("name", ["BISW-fig3.4-app106", "BISW-fig3.7-app109"])
def test_figures_3_4_and_3_7_application_timelines(name):
    case, index, ids = case_and_index(name)
    assert net(events(index.cells(sys=(0, case["input"]["sys"])), ids, "app")) == case["expected"]


def test_figure_3_5_system_timeline():
    case, index, ids = case_and_index("BISW-fig3.5-sys")
    starts = index.rows(np.arange(len(index)))["app_start"].to_pylist()
    found = index.cells(sys=tuple(case["input"]["sys"])).to_pylist()
    at_start = [cell for cell in found if cell["app"] == starts[cell["row"]]]
    assert events(pa.Table.from_pylist(at_start), ids, "sys") == case["expected"]


def test_figure_3_6_application_delta():
    case, index, ids = case_and_index("BISW-fig3.6-delta")
    assert events(index.cells(sys=tuple(case["input"]["sys"])), ids, "app") == case["expected"]


def test_figure_3_7_by_merging():
    case, (_, index, ids) = CASES["BISW-fig3.7-merge"], case_and_index("BISW-fig3.7-app109")
    base = net(events(index.cells(sys=(0, 106)), ids, "app"))
    delta = events(index.cells(sys=(107, 109)), ids, "app")
    assert (base, delta) == (case["input"]["base"], case["input"]["delta"])
    merged = {}
    for app, found in base + delta:
        merged.setdefault(app, []).extend(found)
    assert net([[app, found] for app, found in sorted(merged.items())]) == case["expected"]


@pytest.mark.parametrize("name", ["BISW-fig4.3-cells105", "BISW-cells-all"])
def test_figure_4_3_cells(name):
    case, index, ids = case_and_index(name)
    assert events(index.cells(sys=tuple(case["input"]["sys"])), ids, "app", "sys") == case["expected"]


def test_figure_4_4_touched_rows():
    case, index, ids = case_and_index("BISW-fig4.4-rows105")
    found = index.cells(sys=(105, 105))["row"].to_pylist()
    assert sorted({int(ids[row]) for row in found}) == case["expected"]


def test_windows_cover_both_ends():
    case = CASES["BISW-window"]
    _, index, _ = case_and_index("BISW-cells-all")
    for (start, length), expected in zip(case["input"]["specs"], case["expected"], strict=True):
        step = next(iter(index.windows(sys=Slide(start, length, 1), app=Slide(start, length, 1), steps=0)))
        assert list(step.sys) == list(step.app) == expected


@pytest.mark.parametrize("name", ["BISW-table4.1", "BISW-table4.2", "BISW-table4.3", "BISW-zero-length"])
@pytest.mark.parametrize("checkpoint_every", [None, 1])
def test_tables_4_1_to_4_3(name, checkpoint_every):
    case, index, ids = case_and_index(name, checkpoint_every=checkpoint_every)
    given = case["input"]
    query = index.windows(
        sys=window(given["sys"], 1), app=window(given["app"], 1), ratio=tuple(given["ratio"]), steps=given["slides"]
    )
    assert deltas(query, ids) == [{"delta": sorted(e["delta"]), "valid": e["valid"]} for e in case["expected"]]
    for (before, step), expected in zip(pairwise(query), case["expected"][1:], strict=True):
        moved = step.sys[1] if step.sys != before.sys else step.app[1]
        assert moved == expected["at"]


def test_a_pace_of_two_takes_the_wider_delta():
    case, index, ids = case_and_index("BISW-pace2")
    given = case["input"]
    query = index.windows(
        sys=window(given["sys"], given["pace"]), app=window(given["app"], 0), ratio=(1, 0), steps=given["slides"]
    )
    expected = [{"delta": sorted(e["delta"]), "valid": e["valid"]} for e in case["expected"]]
    assert deltas(query, ids)[1:] == expected


def test_application_time_goes_on_after_a_system_slide():
    case, index, ids = case_and_index("BISW-alg3-reset")
    given, steps = case["input"], 3 * case["input"]["loops"]
    query = list(
        index.windows(
            sys=window(given["sys"], 1), app=window(given["app"], 1), ratio=tuple(given["ratio"]), steps=steps
        )
    )
    moved = [step.app[1] for before, step in pairwise(query) if step.app != before.app]
    assert moved == case["expected"]["right_app"]
    assert ids[query[-1].valid()].tolist() == case["expected"]["right_valid_end"]


def test_the_order_of_events_does_not_matter():
    case, index, ids = case_and_index("BISW-merge-order")
    app_end, slide = case["input"]["app_end"], case["input"]["slide_sys"]
    query = index.windows(sys=Slide(slide - 2, 1, 1), app=Slide(app_end - 1, 1, 0), ratio=(1, 0), steps=1)
    assert ids[list(query)[-1].valid()].tolist() == case["expected"]["net"]


def test_figure_4_8_non_retroactive_cells():
    case, index, ids = case_and_index("BISW-fig4.8-nonretro")
    table = index.rows(np.arange(len(index)))
    for sys, expected in case["expected"].items():
        index = BitemporalIndex(retroactive=False)
        ends = [None if end is not None and end > int(sys) else end for end in table["sys_end"].to_pylist()]
        known = table.set_column(table.column_names.index("sys_end"), "sys_end", pa.array(ends, pa.int64()))
        index.append(known.filter(pa.array([start <= int(sys) for start in table["sys_start"].to_pylist()])))
        assert events(index.cells(), ids, "app") == expected


def test_figure_4_9_checkpoint():
    case, index, ids = case_and_index("BISW-fig4.9-checkpoint", checkpoint_every=None)
    given = case["input"]
    index.checkpoint(given["sys"])
    assert index.checkpoints == [given["sys"]]
    assert net(events(index.cells(sys=(0, given["sys"])), ids, "app")) == case["expected"]["checkpoint"]
    later = index.cells(sys=(given["sys"] + 1, given["query_sys"])).to_pylist()
    after = [cell for cell in later if cell["app"] == given["app"]]
    assert events(pa.Table.from_pylist(after), ids, "sys") == case["expected"]["bucket_events_after"]
    query = index.windows(
        sys=Slide(given["query_sys"] - 1, 1, 0), app=Slide(given["app"] - 2, 1, 1), ratio=(0, 1), steps=1
    )
    assert set(case["expected"]["bucket_net"]) <= set(ids[list(query)[1].entered].tolist())


def test_the_three_meanings_on_one_window():
    case, index, ids = case_and_index("BISW-semantics")
    given, expected = case["input"], case["expected"]

    def rows(meaning, sys=given["sys"], app=given["app"]):
        query = index.windows(sys=window(sys, 0), app=window(app, 0), steps=0, meaning=meaning)
        return ids[next(iter(query)).valid()].tolist()

    assert rows("snapshot") == expected["snapshot_at_end_corner"]
    assert rows("visible") == expected["overlapping_both_windows"]
    assert rows("began") == expected["signed_and_activated_any"]
    assert rows("began", app=(-100, 100)) == expected["signed_in_sys_window"]


def test_the_contract_of_section_1_1():
    case = CASES["BISW-1.1-contract"]
    row = {name: date.fromisoformat(text) for name, text in case["input"]["row"].items()}
    index = BitemporalIndex(
        pa.table(
            {
                "sys_start": [row["StartSys"]],
                "sys_end": [row["EndSys"]],
                "app_start": [row["StartApp"]],
                "app_end": [row["EndApp"]],
            }
        )
    )
    assert [index.as_of(sys=sys, app=app).size == 1 for sys, app in case["input"]["points"]] == case["expected"]


def test_appendix_a_2_corners():
    case, index, ids = case_and_index("BISW-A.2-rtree")
    found = [ids[index.as_of(sys=sys, app=app)].tolist() for sys, app in case["input"]["corners"]]
    assert found == case["expected"]
