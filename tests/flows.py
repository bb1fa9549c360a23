"""Streams of endpoint events as they may come: early, in time, late, in any number of pushes; and what must remain."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NEVER = 2**63 - 1
LAST = 9
END = 40

Row = tuple[str, int, int]
"""A key and a period."""


@dataclass
class Flow:
    """Pushes of one stream, the rows that must remain of it by id, and how many events come and are refused."""

    arrival: str
    pushes: list[list[dict[str, Any]]]
    rows: dict[int, Row]
    events: int
    refused: int

    def table(self, push: int) -> pa.Table:
        """What comes in a push."""
        return pa.Table.from_pylist(self.pushes[push], SCHEMAS[self.arrival])

    def whole(self) -> pa.Table:
        """The rows that remain, as a table for the verbs."""
        rows = [
            {"key": key, "id": number, "start": start, "end": None if end == NEVER else end, "value": number * 3 - 4}
            for number, (key, start, end) in sorted(self.rows.items(), key=lambda row: (row[1][1], row[0]))
        ]
        return pa.Table.from_pylist(rows, SCHEMAS["start"])


_KEYED = [("key", pa.string()), ("id", pa.int64()), ("value", pa.int64())]
SCHEMAS = {
    "events": pa.schema([*_KEYED, ("time", pa.int64()), ("event", pa.string())]),
    "start": pa.schema([*_KEYED, ("start", pa.int64()), ("end", pa.int64())]),
}

cuts = st.lists(st.integers(0, LAST), max_size=4, unique=True).map(lambda some: [*sorted(some), END])
arrivals = st.sampled_from(["events", "start"])


@st.composite
def periods(draw: Any) -> tuple[int, int]:
    start = draw(st.integers(0, LAST - 1))
    return start, draw(st.integers(start + 1, LAST) | st.just(NEVER))


@st.composite
def flows(draw: Any, untils: list[int], arrival: str, size: int = 5) -> Flow:
    """A stream whose instants are complete up to these; the last one is after all events."""
    found = Flow(arrival, [[] for _ in untils], {}, 0, 0)
    for number in range(draw(st.integers(0, size))):
        key, (start, end) = draw(st.sampled_from("ab")), draw(periods())
        head = {"key": key, "id": number, "value": number * 3 - 4}
        if arrival == "start":
            moments = [(start, {**head, "start": start, "end": None if end == NEVER else end})]
        else:
            moments = [(start, {**head, "time": start, "event": "start"})]
            if end < NEVER:
                moments.append((end, {**head, "value": None, "time": end, "event": "end"}))
        kept = [_deliver(draw, found, untils, time, event) for time, event in moments]
        found.events += len(moments)
        if kept[0]:
            found.rows[number] = key, start, end if arrival == "start" or all(kept) else NEVER
        found.refused += len(kept) - (sum(kept) if kept[0] else 0)
    found.pushes = [draw(st.permutations(push)) for push in found.pushes]
    return found


def _deliver(draw: Any, flow: Flow, untils: list[int], time: int, event: dict[str, Any]) -> bool:
    """Put an event into some push, most often in time; tell whether it comes in time."""
    due = next(at for at, until in enumerate(untils) if until >= time)
    push: int = draw(st.sampled_from([due, due, due, due, *range(len(untils))]))
    flow.pushes[push].append(event)
    return push <= due
