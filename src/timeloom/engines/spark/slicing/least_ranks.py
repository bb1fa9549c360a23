"""The rows of a sample that have the least ranks, kept while more of them come than are wanted."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

SLACK = 1.25
"""So many times the wanted rows are held before those that are not among the least are thrown away."""


def least_ranked(batches: Iterator[pa.RecordBatch], size: int, schema: pa.Schema) -> pa.Table:
    """The rows with the least values of ``rank``, at most so many, in the order in which they came.

    Whatever comes, not many more rows are held: what lies above the greatest rank that was kept is never taken in.
    """
    held: list[pa.Table] = []
    rows, above = 0, np.iinfo(np.int64).max
    for batch in batches:
        low = np.asarray(batch.column("rank")) < above
        held.append(pa.Table.from_batches([batch if low.all() else batch.filter(pa.array(low))]))
        rows += held[-1].num_rows
        if rows > SLACK * size:
            held = [_least(pa.concat_tables(held), size)]
            rows, above = size, int(np.asarray(held[0]["rank"]).max())
    return _least(pa.concat_tables(held) if held else schema.empty_table(), size)


def _least(table: pa.Table, size: int) -> pa.Table:
    """The rows with the least ranks. To put them into the order of these would take longer than all that follows."""
    if table.num_rows <= size:
        return table
    kept = np.zeros(table.num_rows, np.bool_)
    kept[np.argpartition(np.asarray(table["rank"]), size - 1)[:size]] = True
    return table.filter(pa.array(kept))
