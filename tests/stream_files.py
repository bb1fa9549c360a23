"""Files of events for streams: what to write, where, and what must come out."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reference.certainty import certain_from
from reference.relations import RELATIONS, join_pairs

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = "key STRING, id LONG, time TIMESTAMP, event STRING"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
LEFT = {"a": [(0, 6), (2, 9), (3, 4)], "b": [(1, 5)]}
RIGHT = {"a": [(1, 8), (4, 12), (2, 3)], "b": [(2, 4), (3, 9)]}
END = 40


def instant(minute: int) -> datetime:
    return EPOCH + timedelta(minutes=minute)


def minute_of(at: datetime | None) -> int | None:
    return None if at is None else int((at.astimezone(UTC) - EPOCH) / timedelta(minutes=1))


def write_lines(folder: Path, number: int, lines: list[dict]) -> None:
    """One file, which appears whole; the source takes the oldest file first."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number}"
    hidden.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(hidden, (1_700_000_000 + number,) * 2)
    hidden.rename(folder / f"{number}.json")


def write(folder: Path, number: int, rows: list[tuple]) -> None:
    """One file of events, given as (key, id, minute, event)."""
    write_lines(
        folder,
        number,
        [
            {"key": key, "id": row, "time": instant(minute).isoformat(), "event": event}
            for key, row, minute, event in rows
        ],
    )


def endpoints(table: dict[str, list], first: int, last: int) -> list[tuple]:
    """The events of some minutes; one more row per key at the end lets the watermark pass all others."""
    found = [
        (key, row, minute, event)
        for key, spans in table.items()
        for row, span in enumerate(spans)
        for minute, event in zip(span, ("start", "end"), strict=True)
        if first <= minute <= last
    ]
    return found + [(key, 99, last, "start") for key in table if last == END]


def certain_pairs(name: str) -> list[tuple]:
    """What the join of LEFT and RIGHT must give: key, ids and the minute at which each pair is certain."""
    holds = RELATIONS[name]
    return sorted(
        (key, i, j, certain_from(holds, LEFT[key][i], RIGHT[key][j]), None)
        for key in LEFT
        for i, j in join_pairs(LEFT[key], RIGHT[key], holds)
    )


def stream(session, folder: Path, schema: str = SCHEMA):
    return session.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def run_to_files(frame, out: Path, checkpoint: Path):
    """Run until all files have been read; the query comes back for its progress."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def found_in(session, out: Path) -> list[tuple]:
    rows = session.read.parquet(str(out)).collect()
    return sorted(((*row[:-2], minute_of(row.at), row.reason) for row in rows), key=repr)
