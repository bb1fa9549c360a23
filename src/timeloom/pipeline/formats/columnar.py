"""Parquet, ORC and Arrow IPC: formats that know their types and their numbers of rows."""

from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from timeloom.pipeline.formats.record import Csv

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read a file."""
    from pyarrow import parquet

    return parquet.ParquetFile(file).read()


def count_parquet(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count by the footer."""
    from pyarrow import parquet

    with opened() as file:
        return int(parquet.ParquetFile(file).metadata.num_rows)


def read_orc(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read a file."""
    from pyarrow import orc

    return orc.read_table(file)


def count_orc(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count by the footer."""
    from pyarrow import orc

    with opened() as file:
        return int(orc.ORCFile(file).nrows)


def read_ipc(file: "pa.NativeFile", how: Csv) -> "pa.Table":
    """Read a file."""
    from pyarrow import feather

    return feather.read_table(file, memory_map=False)


def write_ipc(file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> "pa.RecordBatchFileWriter":
    """Write batches as they are."""
    import pyarrow as pa

    return pa.ipc.new_file(file, schema)


def count_ipc(opened: "Callable[[], pa.NativeFile]") -> int:
    """Count by the batches' own numbers."""
    import pyarrow as pa

    with opened() as file:
        batches = pa.ipc.open_file(file)
        return sum(batches.get_batch(number).num_rows for number in range(batches.num_record_batches))


class ParquetBatches:
    """A Parquet writer that takes batches."""

    def __init__(self, file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> None:
        self.writer = self.opened(file, schema)

    def opened(self, file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> Any:
        """Arrow's writer."""
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)

    def __enter__(self) -> "ParquetBatches":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()

    def write(self, batch: "pa.RecordBatch") -> None:
        """Write one batch."""
        self.writer.write_batch(batch)


class OrcBatches(ParquetBatches):
    """An ORC writer that takes batches."""

    def opened(self, file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> Any:
        """Arrow's writer; it learns the columns from the first table, also where no rows follow."""
        from pyarrow import orc

        writer = orc.ORCWriter(file)
        writer.write(schema.empty_table())
        return writer

    def write(self, batch: "pa.RecordBatch") -> None:
        """Write one batch."""
        import pyarrow as pa

        self.writer.write(pa.Table.from_batches([batch]))
