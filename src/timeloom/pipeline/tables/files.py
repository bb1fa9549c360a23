"""Tables in files: reading whole, writing all or nothing."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from timeloom.errors import InvalidInputError, StorageError
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.formats.record import Csv, Format
from timeloom.pipeline.formats.registry import FORMATS, STANDARD, format_of
from timeloom.pipeline.outputs.staging import Outputs


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
        table = _read(path, FORMATS[form], how)
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


def _read(path: str, form: Format, how: Csv) -> pa.Table:
    if path == STANDARD:
        return form.read(pa.BufferReader(sys.stdin.buffer.read()), how)
    if Path(path).is_dir():
        return _read_directory(path, form, how)
    with pa.OSFile(path) as file:
        return form.read(file, how)


def _read_directory(path: str, form: Format, how: Csv) -> pa.Table:
    from pyarrow import dataset

    if form.directory is None:
        raise pa.ArrowInvalid("it is a directory, expected a file; give the files one by one")
    return dataset.dataset(path, format=form.directory(how), partitioning="hive").to_table()


def write_table(
    path: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: str | None = None, *, staged: bool = False
) -> int:
    """Write record batches to a file, which appears only when it is whole; return the number of rows.

    ``staged`` says that the path is a staging place itself, of which nobody reads before it is whole.
    """
    form = form or format_of(path)
    if path == STANDARD:
        return _write_stream(sys.stdout.buffer, batches, schema, FORMATS[form])
    try:
        with open(path, "xb") if staged else replacing(Path(path)) as file:
            return _write_stream(file, batches, schema, FORMATS[form])
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


def _write_stream(file: IO[bytes], batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: Format) -> int:
    rows = 0
    with form.write(file, schema) as writer:
        for batch in batches:
            rows += batch.num_rows
            writer.write(batch)
    return rows
