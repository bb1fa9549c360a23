"""Tables in files: the format by suffix, reading whole, writing all or nothing."""

import base64
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from timeloom.errors import InvalidInputError, StorageError, UsageError, did_you_mean
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.outputs.staging import Outputs

SUFFIXES = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
"""The format that each suffix stands for; JSON is one object a line."""

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow", "json": ".jsonl", "orc": ".orc"}
"""The suffix with which each format is written."""

STANDARD = "-"
"""The name of the standard streams, which carry CSV."""


def format_of(path: str) -> str:
    """Tell the format of a file from its name."""
    if path == STANDARD:
        return "csv"
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path!r} has no suffix that tells its format. {did_you_mean(suffix, SUFFIXES)}")
    return SUFFIXES[suffix]


@dataclass(frozen=True)
class Csv:
    """How to read CSV: the separator, columns that stay text, and the texts that mean null (None: the usual ones)."""

    delimiter: str = ","
    texts: tuple[str, ...] = ()
    nulls: tuple[str, ...] | None = None


def read_table(path: str, form: str | None = None, how: Csv = Csv()) -> pa.Table:  # noqa: B008
    """Read a file, or a directory of files, as one Arrow table.

    Files are opened by Arrow itself: its threads may outlive the call, and with a Python file object they would need
    an interpreter that is perhaps shutting down.

    Parameters
    ----------
    path
        A file; a directory, whose ``name=value`` folders become columns; or ``-`` for standard input.
    form
        The format, if the suffix does not tell it.
    how
        How to read CSV files.
    """
    form = form or format_of(path)
    try:
        table = _read(path, form, how)
        names = list(table.column_names)
    except UnicodeDecodeError as error:
        raise StorageError(f"{path!r} cannot be read as {form}: a column's name is no UTF-8 text ({error})") from error
    except FileNotFoundError as error:
        raise StorageError(f"{path!r} does not exist; check the path") from error
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{path!r} cannot be read as {form}: {one_line(error)}") from error
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise InvalidInputError(f"{path!r} has {names.count(twice[0])} columns named {twice[0]!r}; rename all but one")
    return table


def _read(path: str, form: str, how: Csv) -> pa.Table:
    if path == STANDARD:
        return _read_stream(pa.BufferReader(sys.stdin.buffer.read()), form, how)
    if Path(path).is_dir():
        return _read_directory(path, form, how)
    with pa.OSFile(path) as file:
        return _read_stream(file, form, how)


def _read_stream(file: pa.NativeFile, form: str, how: Csv) -> pa.Table:
    if form == "csv":
        from pyarrow import csv

        parsing, conversion = csv_options(how)
        return csv.read_csv(file, parse_options=parsing, convert_options=conversion)
    if form == "json":
        from pyarrow import json as lines

        return lines.read_json(file)
    if form == "arrow":
        from pyarrow import feather

        return feather.read_table(file, memory_map=False)
    if form == "orc":
        from pyarrow import orc

        return orc.read_table(file)
    from pyarrow import parquet

    return parquet.ParquetFile(file).read()


def _read_directory(path: str, form: str, how: Csv) -> pa.Table:
    from pyarrow import dataset

    layout: Any = form
    if form == "csv":
        parsing, conversion = csv_options(how)
        layout = dataset.CsvFileFormat(parse_options=parsing, convert_options=conversion)
    return dataset.dataset(path, format=layout, partitioning="hive").to_table()


def csv_options(how: Csv) -> tuple[Any, Any]:
    """Arrow's options for parsing CSV and for converting its texts."""
    from pyarrow import csv

    conversion = csv.ConvertOptions(
        column_types={name: pa.string() for name in how.texts},
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    if how.nulls is not None:
        conversion.null_values = list(how.nulls)
    return csv.ParseOptions(delimiter=how.delimiter, newlines_in_values=True), conversion


def write_table(
    path: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: str | None = None, *, staged: bool = False
) -> int:
    """Write record batches to a file, which appears only when it is whole; return the number of rows.

    ``staged`` says that the path is a staging place itself, of which nobody reads before it is whole.
    """
    form = form or format_of(path)
    if path == STANDARD:
        return _write_stream(sys.stdout.buffer, batches, schema, form)
    try:
        with open(path, "xb") if staged else replacing(Path(path)) as file:
            return _write_stream(file, batches, schema, form)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, StorageError):
            raise
        reason = getattr(error, "strerror", None) or one_line(error)
        raise StorageError(f"{path!r} cannot be written as {form}: {reason}") from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a staging file beside the path, which takes its place once the block ends without an error.

    Links are followed, and what is no file, such as a pipe, is written as it is.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    if not path.resolve().parent.is_dir():
        raise StorageError(f"{str(path)!r} cannot be written: there is no directory {str(path.parent)!r}; make it")
    with Outputs() as outputs:
        target = outputs.add(str(path), is_file=True)
        with target.staging.open("xb") as file:
            yield file
        outputs.commit()


def _write_stream(file: IO[bytes], batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: str) -> int:
    if form == "json":
        return _write_lines(file, batches)
    rows = 0
    with _writer(file, schema, form) as writer:
        for batch in batches:
            rows += batch.num_rows
            writer.write(pa.Table.from_batches([batch], schema) if form == "orc" else batch)
    return rows


def _writer(file: IO[bytes], schema: pa.Schema, form: str) -> Any:
    if form == "csv":
        from pyarrow import csv

        return csv.CSVWriter(file, schema)
    if form == "arrow":
        return pa.ipc.new_file(file, schema)
    if form == "orc":
        from pyarrow import orc

        return orc.ORCWriter(file)
    from pyarrow import parquet

    return _ParquetBatches(parquet.ParquetWriter(file, schema))


class _ParquetBatches:
    """A Parquet writer with the interface of the other writers."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def __enter__(self) -> "_ParquetBatches":
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.close()

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch)


def _write_lines(file: IO[bytes], batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for row in batch.to_pylist():
            file.write(json.dumps(row, default=plain, ensure_ascii=False).encode() + b"\n")
    return rows


def plain(value: Any) -> Any:
    """Write a value that JSON does not know: times as ISO text, bytes in base 64, the rest as text."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
