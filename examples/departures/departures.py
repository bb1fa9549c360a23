"""An airport as it happens: which service is at work at which stand, told as soon as it is certain.

Run it with ``python examples/departures/departures.py``. Flights at a stand, and services, come as starts and ends,
minute by minute; nothing waits for a whole period. `departures.yml` is such a join as a stream on Spark.
"""

import pyarrow as pa

from timeloom.streaming import StreamJoin

FLIGHTS = [(0, "LH1", "start"), (2, "UA7", "start"), (9, "LH1", "end"), (11, "AF3", "start"), (14, "UA7", "end")]
SERVICES = [(1, "fuel", "start"), (4, "fuel", "end"), (7, "crew", "start"), (12, "crew", "end"), (13, "food", "start")]
LAST = 14


def events_until(events: list[tuple[int, str, str]], first: int, last: int) -> pa.Table:
    """What a source delivers for the minutes first..last."""
    rows = [{"time": time, "id": row, "event": event} for time, row, event in events if first <= time <= last]
    return pa.Table.from_pylist(rows, pa.schema({"time": pa.int64(), "id": pa.string(), "event": pa.string()}))


def follow(relation: str, every: int = 5) -> None:
    """Deliver every few minutes what has happened; print what is certain, and since when."""
    stream = StreamJoin(relation)
    for first in range(0, LAST + 1, every):
        last = first + every - 1
        pairs = stream.push(events_until(FLIGHTS, first, last), events_until(SERVICES, first, last), until=last)
        by_time = pairs.sort_by([("at", "ascending"), ("right_id", "ascending"), ("left_id", "ascending")]).to_pylist()
        told = [f"{pair['left_id']} {relation} {pair['right_id']} since {pair['at']}" for pair in by_time]
        print(f"minute {last:>2}, {stream.state_size} rows kept: {'; '.join(told) or 'nothing new'}")
    print(f"refused: {stream.take_rejected().num_rows}, certain only now: {stream.close().num_rows}")


def main() -> None:
    """Two relations of the same streams: one is certain at a start, the other at an end."""
    for relation in ("intersects", "contains"):
        print(relation)
        follow(relation)


if __name__ == "__main__":
    main()
