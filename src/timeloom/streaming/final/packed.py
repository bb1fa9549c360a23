"""Rows of any types as bytes, in which they travel between tasks."""

import pyarrow as pa


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(packed: bytes) -> pa.Table:
    """The table that was packed."""
    return pa.ipc.open_stream(packed).read_all()
