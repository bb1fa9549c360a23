"""How many rows files really have: read back from what was written."""

from pathlib import Path

import pyarrow as pa

from timeloom.errors import StorageError
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.tables.files import ENDINGS, Csv, csv_options


def count_rows(path: Path, form: str) -> int:
    """Count the rows that a file, or the files of a directory, really have."""
    files = [path] if path.is_file() else sorted(path.rglob(f"*{ENDINGS[form]}"))
    return sum(_count_file(file, form) for file in files)


def _count_file(path: Path, form: str) -> int:
    try:
        with pa.OSFile(str(path)) as file:
            return _count(file, path, form)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{str(path)!r} cannot be read back as {form}: {one_line(error)}") from error


def _count(file: pa.NativeFile, path: Path, form: str) -> int:
    if form == "parquet":
        from pyarrow import parquet

        return int(parquet.ParquetFile(file).metadata.num_rows)
    if form == "json":
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    if form == "orc":
        from pyarrow import orc

        return int(orc.ORCFile(file).nrows)
    if form == "arrow":
        opened = pa.ipc.open_file(file)
        return sum(opened.get_batch(number).num_rows for number in range(opened.num_record_batches))
    return _count_csv(file, path)


def _count_csv(file: pa.NativeFile, path: Path) -> int:
    """Count as a reader does. All columns are read as text: types guessed from the first block may not hold later."""
    from pyarrow import csv

    parsing, _ = csv_options(Csv())
    with pa.OSFile(str(path)) as start, csv.open_csv(start, parse_options=parsing) as opened:
        names = opened.schema.names
    conversion = csv.ConvertOptions(column_types={name: pa.string() for name in names})
    with csv.open_csv(file, parse_options=parsing, convert_options=conversion) as batches:
        return sum(batch.num_rows for batch in batches)
