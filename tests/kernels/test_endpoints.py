"""The endpoint index and its iterators, by the traces of the paper and against sorting in Python."""

import json
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.endpoints import (
    END,
    START,
    Endpoints,
    endpoint_index,
    filtering,
    first_end,
    merging,
    second_start,
    shifting,
)
from timeloom.model.ticks import FOREVER, MIN_TICK

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent.parent / "golden" / "sweeping.json").read_text())
}
KINDS = {"start": START, "end": END}
Event = tuple[int, int, int]

spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=10,
)


def stream(events: list) -> Endpoints:
    rows = [(FOREVER if time == "inf" else time, KINDS[kind], row) for time, kind, row in events]
    return Endpoints(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int8),
        np.array([row[2] for row in rows], np.int32),
    )


def listed(events: Endpoints) -> list[Event]:
    return list(zip(events.times.tolist(), events.kinds.tolist(), events.ids.tolist(), strict=True))


def columns(periods: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(periods, np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def test_index_as_printed():
    case = CASES["IJ-5.1-index"]
    found = endpoint_index(*columns(case["input"]["r"]))
    assert [(time, kind, row + 1) for time, kind, row in listed(found)] == listed(stream(case["expected"]))


def test_index_of_one_tuple():
    case = CASES["IJ-5.1-events"]
    found = listed(endpoint_index(*columns([case["input"]["tuple"]])))
    assert [(time, kind, case["input"]["id"]) for time, kind, _ in found] == listed(stream(case["expected"]))


def test_merging_keeps_the_last_endpoint():
    case = CASES["IJ-A-merging"]
    merged = merging(stream(case["input"]["it1"]), stream(case["input"]["it2"]))
    assert listed(merged) == listed(stream(case["expected"]["right"]))


def test_first_end():
    case = CASES["IJ-A-first-end"]
    assert listed(first_end(stream(case["input"]["source"]), 3)) == listed(stream(case["expected"]))


def test_second_start():
    case = CASES["IJ-A-second-start"]
    assert listed(second_start(stream(case["input"]["source"]), 3)) == listed(stream(case["expected"]))


def test_shifting_saturates():
    ends = stream([["inf", "end", 0], ["inf", "end", 1]])
    assert listed(shifting(ends, 5, START)) == [(FOREVER, START, 0), (FOREVER, START, 1)]
    starts = Endpoints(np.array([MIN_TICK, 0]), np.array([START, START], np.int8), np.array([0, 1], np.int32))
    assert listed(shifting(starts, -3, END)) == [(MIN_TICK, END, 0), (-3, END, 1)]


@settings(max_examples=80, deadline=None)
@given(spans)
def test_index_is_sorted_and_complete(periods: list[tuple[int, int]]):
    found = listed(endpoint_index(*columns(periods)))
    every = [(start, START, row) for row, (start, _) in enumerate(periods)]
    every += [(end, END, row) for row, (_, end) in enumerate(periods)]
    assert sorted(found) == sorted(every)
    assert [event[:2] for event in found] == sorted(event[:2] for event in every)


@settings(max_examples=80, deadline=None)
@given(spans, st.integers(0, 5))
def test_virtual_ends_and_starts_are_the_minimum_and_the_maximum(periods: list[tuple[int, int]], distance: int):
    index = endpoint_index(*columns(periods))
    later = shifting(filtering(index, START), distance + 1, END)
    ended = filtering(first_end(merging(index, later), len(periods)), END)
    assert sorted((row, time) for time, _, row in listed(ended)) == [
        (row, min(end, start + distance + 1)) for row, (start, end) in enumerate(periods)
    ]
    earlier = shifting(filtering(index, END), -distance - 1, START)
    started = filtering(second_start(merging(index, earlier), len(periods)), START)
    assert sorted((row, time) for time, _, row in listed(started)) == [
        (row, max(start, end - distance - 1)) for row, (start, end) in enumerate(periods)
    ]
