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
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
}
"""What a file's name says of its format; texts may be packed by gzip, with one more suffix."""

TEXTS = ("csv", "tsv", "json")
PACKED = ".gz"


def is_path(frame: object) -> bool:
    """Tell the name of a file or folder from a table."""
    return isinstance(frame, str | PathLike)


def is_dataset(frame: object) -> bool:
    """Tell a dataset of Arrow's; whoever has one has imported its module."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(frame, module.Dataset | module.Scanner)


def read_path(path: Any, side: str) -> pa.Table:
    """Read a file, or the files of a folder, which must be of one format."""
    place = Path(fspath(path))
    try:
        is_folder, is_there = place.is_dir(), place.exists()
    except OSError:
        is_folder = is_there = False
    files = _tables_in(place) if is_folder and path else [place] if is_there else []
    forms = {_format_of(file) for file in files} - {None}
    if len(forms) > 1:
        raise UsageError(
            f"{_named(side)} is the folder {shown(str(path))}, whose files are of several formats "
            f"({', '.join(sorted(map(str, forms)))}); give one file, or a folder with one format"
        )
    if not forms:
        raise UsageError(
            f"{_named(side)} is the text {shown(str(path))}, which names no file with a table; give a table, or the "
            f"path of a file ({', '.join(FORMATS)}, texts also with {PACKED}) or of a folder of such files"
        )
    return _read([str(file) for file in files], str(forms.pop()))


def _named(side: str) -> str:
    return "the input" if side == "input" else f"the {side} input"


def _tables_in(folder: Path) -> list[Path]:
    """The files of a folder that hold tables; those that begin with a dot or a line are marks and leftovers."""
    named = [file for file in folder.iterdir() if _format_of(file) and not file.name.startswith((".", "_"))]
    return sorted(file for file in named if file.is_file())


def _format_of(file: Path) -> str | None:
    name = file.name.lower()
    form = FORMATS.get(Path(name.removesuffix(PACKED)).suffix)
    return form if form in TEXTS or not name.endswith(PACKED) else None


def _read(files: list[str], form: str) -> pa.Table:
    import pyarrow.dataset as ds

    if form == "json":
        tables = [_objects(file) for file in files]
        return pa.concat_tables(tables, promote_options="permissive")
    chosen: Any = form
    if form == "tsv":
        from pyarrow.csv import ParseOptions

        chosen = ds.CsvFileFormat(ParseOptions(delimiter="\t"))
    return ds.dataset(files, format=chosen).to_table()


def _objects(file: str) -> pa.Table:
    from timeloom.engines.tables.json_objects import read_objects

    with pa.OSFile(file) as raw:
        unpacked = pa.CompressedInputStream(raw, "gzip").read() if file.lower().endswith(PACKED) else raw.read()
    found = read_objects(pa.BufferReader(unpacked))
    if found is None:
        raise pa.ArrowInvalid("it has no objects, so nothing tells its columns")
    return found
