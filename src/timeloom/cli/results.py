"""From a verb's answer to files, or to the screen."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from timeloom.cli.period_texts import with_unread
from timeloom.cli.reading import TABLE, Reading
from timeloom.engines.tables.marks import is_index
from timeloom.errors import UsageError
from timeloom.operators.registry import Verb
from timeloom.pipeline.definition.signatures import options_of
from timeloom.pipeline.formats.registry import STANDARD

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 40
"""How many rows a table on the screen has."""


@dataclass(frozen=True)
class Inputs:
    """The tables and indexes of a command, and the rows of each table whose times could not be read."""

    tables: list[Any]
    unread: "list[pa.Table | None]"


@dataclass(frozen=True)
class Written:
    """How many rows went where."""

    rows: int
    rejected: int = 0


@dataclass(frozen=True)
class Target:
    """Where rows go, and in which format."""

    path: str
    form: str

    @classmethod
    def of(cls, path: str, reading: Reading) -> "Target":
        """Decide the format before anything runs."""
        form = reading.output_form(path, terminal=sys.stdout.isatty())
        if form == TABLE and path != STANDARD:
            raise UsageError(f"--format table is for the screen; {path!r} needs a format that programs read")
        return cls(path, form)

    def write(self, batches: "Iterable[pa.RecordBatch]", schema: "pa.Schema") -> int:
        """Write rows; return how many there were."""
        from timeloom.pipeline.tables.files import write_table

        if self.form == TABLE:
            return show(batches, schema)
        return write_table(self.path, batches, schema, self.form)


def show(batches: "Iterable[pa.RecordBatch]", schema: "pa.Schema") -> int:
    """Draw the first rows as a table, and say how many more there are."""
    import pyarrow as pa
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn, rows = Table(box=box.SIMPLE_HEAD, pad_edge=False), 0
    for field in schema:
        right = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        drawn.add_column(field.name, justify="right" if right else "left", overflow="fold")
    for batch in batches:
        for values in zip(
            *(column.to_pylist() for column in batch.slice(0, max(0, SHOWN - rows)).columns), strict=True
        ):
            drawn.add_row(*("" if value is None else str(value) for value in values))
        rows += batch.num_rows
    console = Console(file=sys.stdout, highlight=False, markup=False)
    console.print(drawn)
    more = f", the first {SHOWN} are shown; -o FILE writes all" if rows > SHOWN else ""
    console.print(f"{rows:,} row{'' if rows == 1 else 's'}{more}")
    return rows


def write_result(
    verb: Verb, inputs: Inputs, values: dict[str, Any], output: Target, rejected: Target | None
) -> Written:
    """Call a verb and write its result, batch by batch if the verb can; through an index there is no need."""
    from timeloom.engines.tables.frames import to_arrow
    from timeloom.engines.tables.validity import Quarantined

    streams = any(option.name == "batches" for option in options_of(verb)) and not any(map(is_index, inputs.tables))
    if streams and values.get("on_invalid") != "quarantine":
        batches: Iterator[Any] = iter(verb.function(*inputs.tables, batches=True, **values))
        first = next(batches)  # a result without rows is an empty batch
        return Written(output.write(chain([first], batches), first.schema))
    answer = verb.function(*inputs.tables, **values)
    refused = 0
    if isinstance(answer, Quarantined):
        rows = with_unread(to_arrow(answer.rejected, "rejected")[0], inputs.unread)
        refused = (rejected or output).write(rows.to_batches(), rows.schema)
        answer = answer.result
    table, _ = to_arrow(answer, "result")
    return Written(output.write(table.to_batches(), table.schema), refused)
