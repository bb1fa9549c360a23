"""Formats within gzip."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, TYPE_CHECKING

from timeloom.pipeline.formats.record import Batches, Csv, Format

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".gz"
CODEC = "gzip"


def gzipped(inner: Format) -> Format:
    """A format whose files are compressed as a whole; Spark knows them by their suffix."""

    @contextmanager
    def write(file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> Iterator[Batches]:
        import pyarrow as pa

        with pa.CompressedOutputStream(file, CODEC) as stream, inner.write(stream, schema) as batches:
            yield batches

    def read(file: "pa.NativeFile", how: Csv) -> "pa.Table":
        return inner.read(_inflated(file), how)

    def count(opened: "Callable[[], pa.NativeFile]") -> int:
        return inner.count(lambda: _inflated(opened()))

    spark = inner.spark and replace(inner.spark, writing={**inner.spark.writing, "compression": CODEC}, streams=False)
    return replace(
        inner,
        name=f"{inner.name}{SUFFIX}",
        title=f"gzipped {inner.title}",
        suffixes=tuple(f"{suffix}{SUFFIX}" for suffix in inner.suffixes),
        read=read,
        write=write,
        count=count,
        spark=spark,
    )


def _inflated(file: "pa.NativeFile") -> "pa.NativeFile":
    import pyarrow as pa

    with pa.CompressedInputStream(file, CODEC) as stream:
        return pa.BufferReader(stream.read())
