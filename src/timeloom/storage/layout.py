"""Named arrays and a little metadata in an Arrow IPC file, checked and memory-mapped.

The file holds one record batch of one row; each array is a list column of that row, so any Arrow reader can
open it.
"""

import json
import mmap
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeVar

import numpy as np
import pyarrow as pa

from timeloom.errors import StorageError
from timeloom.storage.digest import BLANK, MARK, is_sealed, offsets, seal, sum_of_blocks
from timeloom.storage.replacing import replacing
from timeloom.storage.structure import damaged, refuse, require

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]
T = TypeVar("T")

_HEADER, _HASH, _FIRST_CHECKSUM = b"timeloom", b"timeloom.hash", b"timeloom.checksum"


def save(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]],
    meta: Mapping[str, Any],
) -> None:
    """Write one-dimensional arrays and JSON metadata to one file, atomically.

    Parameters
    ----------
    path
        The file to write or to replace.
    kind
        What the file holds, such as ``"stab-forest"``; ``load`` refuses another kind.
    version
        The version of the layout of this kind.
    arrays
        Numeric or boolean arrays by name.
    meta
        Anything that ``json`` can write.
    """
    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {
        "kind": kind,
        "version": version,
        "meta": dict(meta),
        "dtypes": {name: array.dtype.str for name, array in stored.items()},
    }
    columns = [_column(array) for array in stored.values()]
    metadata = {_HASH: MARK + BLANK, _HEADER: json.dumps(header, sort_keys=True)}
    schema = pa.schema(
        [pa.field(name, column.type) for name, column in zip(stored, columns, strict=True)], metadata=metadata
    )
    try:
        with replacing(path) as file:
            _write(file, pa.record_batch(columns, schema=schema))
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{os.fspath(path)!r} could not be written ({error}); check that the directory exists, "
            "is writable and has room"
        ) from error


def restore(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    read: Callable[[Arrays, dict[str, Any]], T],
) -> T:
    """Load a file and make of it what it holds; whatever ``read`` stumbles over is the file's fault."""
    arrays, meta = load(path, kind, version)
    try:
        return read(arrays, meta)
    except StorageError:
        raise
    except Exception as error:
        raise damaged(os.fspath(path), kind, _reason(error)) from error


def load(path: str | os.PathLike[str], kind: str, version: int = 1) -> tuple[Arrays, dict[str, Any]]:
    """Read a file that ``save`` wrote: the arrays, memory-mapped, and the metadata.

    The mapping is private: an array may be changed in place, which copies the touched pages and never reaches
    the file. Files of the first format are read, too, with the checksum that they have.

    Raises
    ------
    StorageError
        If the file is missing, damaged, of another kind, or written by a later version.
    """
    place = os.fspath(path)
    try:
        content = _content(place, kind)
        hashes = offsets(content)
        sealed = hashes is not None and is_sealed(content, hashes)
        if hashes is None or sealed:
            arrays, header, text, first_checksum = _parse(content)
    except StorageError:
        raise
    except Exception as error:
        raise damaged(place, kind, _reason(error)) from error
    if not sealed and (hashes is not None or first_checksum != sum_of_blocks(text, arrays)):
        raise StorageError(f"{place!r} is damaged: its checksum does not match its content; restore or save it again")
    if header["kind"] != kind:
        raise StorageError(
            f"{place!r} holds {header['kind']!r}, expected {kind!r}; load it with the class that saved it"
        )
    if header["version"] > version:
        raise StorageError(
            f"{place!r} has version {header['version']} of {kind!r}, this Timeloom reads up to {version}; "
            "use a newer Timeloom or save the file again with this one"
        )
    return arrays, header["meta"]


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What a file holds, as its header says; None if there is no such header, which whoever loads it will tell."""
    try:
        with pa.memory_map(os.fspath(path)) as file:
            header = json.loads((pa.ipc.open_file(file).schema.metadata or {})[_HEADER])
    except (OSError, KeyError, ValueError):
        return None
    return header["kind"] if isinstance(header, dict) and isinstance(header.get("kind"), str) else None


def _content(place: str, kind: str) -> mmap.mmap:
    try:
        with open(place, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileNotFoundError as error:
        raise StorageError(f"{place!r} does not exist; expected a file saved as {kind!r}") from error
    except OSError as error:
        raise StorageError(f"{place!r} cannot be read ({error}); expected a file saved as {kind!r}") from error


def _write(file: BinaryIO, batch: pa.RecordBatch) -> None:
    with pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
    file.flush()
    with mmap.mmap(file.fileno(), 0) as content:
        if not seal(content):
            raise StorageError(
                f"a name contains {MARK.decode()!r}, which marks a file's hash; rename the column that has it"
            )
        content.flush()


def _column(array: np.ndarray[Any, np.dtype[Any]]) -> pa.Array:
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise StorageError(
            f"an array of {array.ndim} dimensions and type {array.dtype} cannot be stored; "
            "expected one dimension of numbers or booleans"
        )
    values = pa.array(array.view(np.uint8) if array.dtype.kind == "b" else array)
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def _parse(content: mmap.mmap) -> tuple[Arrays, dict[str, Any], str, str]:
    """The arrays, the header, its text, and the checksum if the file is of the first format."""
    whole = np.frombuffer(content, np.uint8)
    reader = pa.ipc.open_file(pa.py_buffer(whole))
    require(reader.num_record_batches == 1, f"{reader.num_record_batches} batches instead of one")
    batch = reader.get_batch(0)
    batch.validate(full=True)
    metadata = batch.schema.metadata or {}
    text = metadata[_HEADER].decode()
    header = json.loads(text)
    require(type(header["version"]) is int and type(header["meta"]) is dict, "the header is of another form")
    names = batch.schema.names
    require(batch.num_rows == 1 and len(set(names)) == len(names), "the columns are of another form")
    arrays = {name: _mapped(whole, batch.column(name), np.dtype(header["dtypes"][name])) for name in names}
    return arrays, header, text, metadata.get(_FIRST_CHECKSUM, b"").decode()


def _mapped(
    content: np.ndarray[Any, np.dtype[Any]], column: pa.Array, dtype: np.dtype[Any]
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the values of a column as a stretch of the mapped file."""
    require(pa.types.is_large_list(column.type) and dtype.kind in "iufb", f"a column of {column.type} and {dtype}")
    values = column.values
    require(values.type == pa.from_numpy_dtype(np.uint8 if dtype.kind == "b" else dtype), f"{values.type} as {dtype}")
    if len(values) == 0:
        return np.zeros(0, dtype)
    at = values.buffers()[1].address - content.ctypes.data + values.offset * dtype.itemsize
    stop = at + len(values) * dtype.itemsize
    if values.null_count or at < 0 or stop > content.size or at % dtype.alignment:
        refuse("an array lies outside the file, or is not whole")
    found = np.asarray(content[at:stop]).view(dtype)
    require(dtype.kind != "b" or found.view(np.uint8).max() <= 1, "a truth value is neither true nor false")
    return found


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
