"""Tables that lie in files: named by a path, or opened as a dataset of Arrow's."""

import sys
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeloom.errors import UsageError, shown

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "feather",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
"""What a file's name says of its format."""


def is_path(frame: object) -> bool:
    """Tell the name of a file or folder from a table."""
    return isinstance(frame, str | PathLike)


def is_dataset(frame: object) -> bool:
    """Tell a dataset of Arrow's; whoever has one has imported its module."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(frame, module.Dataset | module.Scanner)


def read_path(path: Any, side: str) -> pa.Table:
    """Read a file, or the Parquet files of a folder."""
    import pyarrow.dataset as ds

    place = Path(fspath(path))
    try:
        is_folder, is_there = place.is_dir(), place.exists()
    except OSError:
        is_folder = is_there = False
    if is_folder:
        files: Any = sorted(map(str, place.glob("*.parquet")))
        form = "parquet" if files else None
    else:
        files, form = place, FORMATS.get(place.suffix.lower())
    if not is_there or form is None:
        raise UsageError(
            f"the {side} input is the text {shown(str(path))}, which names no file with a table; give a table, or the "
            f"path of a file ({', '.join(FORMATS)}) or of a folder of Parquet files"
        )
    return ds.dataset(files, format=form).to_table()
