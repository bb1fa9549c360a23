"""How many rows files really have: read back from what was written."""

from pathlib import Path

import pyarrow as pa

from timeloom.errors import StorageError
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.formats.registry import FORMATS


def count_rows(path: Path, form: str) -> int:
    """Count the rows that a file, or the files of a directory, really have."""
    files = [path] if path.is_file() else sorted(path.rglob(f"*{FORMATS[form].suffixes[0]}"))
    return sum(_count_file(file, form) for file in files)


def _count_file(path: Path, form: str) -> int:
    try:
        return FORMATS[form].count(lambda: pa.OSFile(str(path)))
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{str(path)!r} cannot be read back as {form}: {one_line(error)}") from error
