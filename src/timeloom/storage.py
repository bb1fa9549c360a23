"""One file for one index: named arrays and a little metadata in an Arrow IPC file, checked and memory-mapped.

The file holds one record batch of one row; each array is a list column of that row, so any Arrow reader can
open it. A file is written beside its final name and renamed when it is whole: a reader, also after a crash in
the middle of a save, sees either the old state or the new one.
"""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.errors import StorageError

Arrays = dict[str, np.ndarray[Any, np.dtype[Any]]]

_BLOCK = 4096


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
    text = json.dumps(header, sort_keys=True)
    columns = [_column(array) for array in stored.values()]
    metadata = {"timeloom": text, "timeloom.checksum": _checksum(text, stored)}
    schema = pa.schema(
        [pa.field(name, column.type) for name, column in zip(stored, columns, strict=True)], metadata=metadata
    )
    batch = pa.record_batch(columns, schema=schema)
    try:
        _write_whole(Path(path), batch)
    except OSError as error:
        raise StorageError(
            f"{os.fspath(path)!r} could not be written ({error}); check that the directory exists, "
            "is writable and has room"
        ) from error


def load(path: str | os.PathLike[str], kind: str, version: int = 1) -> tuple[Arrays, dict[str, Any]]:
    """Read a file that ``save`` wrote: the arrays, memory-mapped, and the metadata.

    The mapping is private: an array may be changed in place, which copies the touched pages and never reaches
    the file.

    Raises
    ------
    StorageError
        If the file is missing, damaged, of another kind, or written by a later version.
    """
    place = os.fspath(path)
    try:
        content = np.memmap(place, dtype=np.uint8, mode="c")
        batch = pa.ipc.open_file(pa.py_buffer(content)).get_batch(0)
        metadata = batch.schema.metadata or {}
        text = metadata[b"timeloom"].decode()
        header = json.loads(text)
        arrays = {
            name: _mapped(content, batch.column(name).values).view(header["dtypes"][name])
            for name in batch.schema.names
        }
    except FileNotFoundError as error:
        raise StorageError(f"{place!r} does not exist; expected a file saved as {kind!r}") from error
    except (pa.ArrowInvalid, OSError, KeyError, IndexError, ValueError, AttributeError) as error:
        raise StorageError(
            f"{place!r} is damaged or no file of Timeloom ({error}); "
            f"expected a file saved as {kind!r}: restore it or save it again"
        ) from error
    if header["kind"] != kind:
        raise StorageError(
            f"{place!r} holds {header['kind']!r}, expected {kind!r}; load it with the class that saved it"
        )
    if header["version"] > version:
        raise StorageError(
            f"{place!r} has version {header['version']} of {kind!r}, this Timeloom reads up to {version}; "
            "use a newer Timeloom or save the file again with this one"
        )
    if metadata.get(b"timeloom.checksum", b"").decode() != _checksum(text, arrays):
        raise StorageError(f"{place!r} is damaged: its checksum does not match its content; restore or save it again")
    return arrays, header["meta"]


def _column(array: np.ndarray[Any, np.dtype[Any]]) -> pa.Array:
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        raise StorageError(
            f"an array of {array.ndim} dimensions and type {array.dtype} cannot be stored; "
            "expected one dimension of numbers or booleans"
        )
    values = pa.array(array.view(np.uint8) if array.dtype.kind == "b" else array)
    return pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)


def _mapped(content: np.ndarray[Any, np.dtype[Any]], values: pa.Array) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the bytes of these values as a stretch of the mapped file."""
    length = len(values) * values.type.bit_width // 8
    if length == 0:
        return np.zeros(0, np.uint8)
    at = values.buffers()[1].address - content.ctypes.data
    return np.asarray(content[at : at + length])


def _checksum(text: str, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> str:
    """Hash the sums of short blocks of words: a changed word changes its block, and adding is as fast as reading."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        content = arrays[name].view(np.uint8)
        blocks = content.size // _BLOCK
        words = content[: blocks * _BLOCK].view(np.uint64).reshape(blocks, _BLOCK // 8)
        digest.update(words.sum(axis=1, dtype=np.uint64).tobytes())
        digest.update(content[blocks * _BLOCK :].tobytes())
    return digest.hexdigest()


def _write_whole(path: Path, batch: pa.RecordBatch) -> None:
    scratch = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with scratch.open("xb") as file:
            with pa.ipc.new_file(file, batch.schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
