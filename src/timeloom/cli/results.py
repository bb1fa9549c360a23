"""From a verb's answer to files."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.marks import is_index
from timeloom.engines.tables.validity import Quarantined
from timeloom.operators.registry import Verb
from timeloom.pipeline.definition.signatures import options_of
from timeloom.pipeline.tables.files import write_table


@dataclass(frozen=True)
class Written:
    """How many rows went where."""

    rows: int
    rejected: int = 0


def write_result(verb: Verb, tables: list[Any], values: dict[str, Any], output: str, rejected: str | None) -> Written:
    """Call a verb and write its result, batch by batch if the verb can; through an index there is no need."""
    streams = any(option.name == "batches" for option in options_of(verb)) and not any(map(is_index, tables))
    if streams and values.get("on_invalid") != "quarantine":
        batches: Iterator[pa.RecordBatch] = iter(verb.function(*tables, batches=True, **values))
        first = next(batches, None)
        if first is not None:
            return Written(write_table(output, chain([first], batches), first.schema))
    answer = verb.function(*tables, **values)
    refused = 0
    if isinstance(answer, Quarantined):
        rows, _ = to_arrow(answer.rejected, "rejected")
        refused = write_table(rejected or "-", rows.to_batches(), rows.schema)
        answer = answer.result
    table, _ = to_arrow(answer, "result")
    return Written(write_table(output, table.to_batches(), table.schema), refused)
