"""Rows dealt out to folders by the values of some columns: ``name=value``, as Hive and Spark lay them out."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError, UsageError

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The text that stands for null in the name of a folder."""

_KINDS = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_duration,
    pa.types.is_null,
)


def partitions(table: pa.Table, by: list[str]) -> Iterator[tuple[str, pa.Table]]:
    """Give the rows of each folder, in their order, without the columns that the folder's name tells.

    Rows are dealt out by the names of folders, so each row is in exactly one of them; the values that share a folder
    are equal (0.0 and -0.0 are, and so are all NaN).

    >>> rows = pa.table({"day": ["mo", None, "mo"], "n": [1, 2, 3]})
    >>> [(folder, part["n"].to_pylist()) for folder, part in partitions(rows, ["day"])]
    [('day=mo', [1, 3]), ('day=__HIVE_DEFAULT_PARTITION__', [2])]
    """
    if not by:
        yield "", table
        return
    refuse_hidden(by)
    columns = [_folders(table[name], name) for name in by]
    codes = np.zeros(table.num_rows, np.int64)
    for own, folders in columns:
        # Numbers of pairs are made dense at once: the product of many columns could pass the range of int64.
        _, codes = np.unique(codes * len(folders) + own, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    bounds = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
    inner = table.drop_columns(by)
    for first, last in pairwise(bounds):
        rows = order[first:last]
        folder = "/".join(folders[own[rows[0]]] for own, folders in columns)
        yield folder, inner.take(pa.array(rows))


def check_columns(columns: list[str], by: list[str], table: str) -> None:
    """Refuse to partition by every column: files without columns have no rows."""
    if columns and by and set(columns) <= set(by):
        raise UsageError(
            f"sink {table!r} is partitioned by all its columns ({', '.join(columns)}), so nothing is left for its "
            "files; leave a column out of partition_by"
        )


def unfit_texts(column: str, empty: int, default: int) -> InvalidInputError:
    """The error about texts that cannot be told from null in the name of a folder."""
    found = f"the empty text in {empty} rows" if empty else f"the text {DEFAULT_PARTITION!r} in {default} rows"
    return InvalidInputError(
        f"partition column {column!r} has {found}, which the name of a folder cannot tell from null; "
        "replace it in a step, or partition by another column"
    )


def refuse_hidden(by: list[str]) -> None:
    """Refuse columns whose folders readers would skip."""
    for name in by:
        if name.startswith((".", "_")):
            raise UsageError(
                f"partition column {name!r} begins with {name[0]!r}, and readers skip such folders: rename it in a step"
            )


def _folders(column: pa.ChunkedArray, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Number the distinct values of a column, and give the folder of each."""
    encoded = _comparable(column, name).dictionary_encode(null_encoding="encode")
    texts = [_text(value) for value in encoded.dictionary]
    for text in ("", DEFAULT_PARTITION):
        if text in texts:
            rows = int(pc.sum(pc.equal(encoded.indices, texts.index(text))).as_py())
            raise unfit_texts(name, rows if not text else 0, rows)
    if len(set(texts)) < len(texts):
        raise InvalidInputError(f"partition column {name!r} ({column.type}) has different values of the same text")
    names = [
        f"{quote(name, safe=' ')}={DEFAULT_PARTITION if text is None else quote(text, safe=' ')}" for text in texts
    ]
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), names


def _comparable(column: pa.ChunkedArray, name: str) -> pa.Array:
    """A column whose equal values are the same bytes, in a type that can be numbered."""
    kind = column.type
    if isinstance(kind, pa.DictionaryType):
        column, kind = column.cast(kind.value_type), kind.value_type
    if str(kind) in ("string_view", "large_string"):
        column, kind = column.cast(pa.string()), pa.string()
    if not any(is_kind(kind) for is_kind in _KINDS):
        raise UsageError(
            f"partition column {name!r} is {kind}; folders are named by text, numbers, truth values, dates or times: "
            "convert it in a step"
        )
    if pa.types.is_floating(kind):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.equal(column, 0.0), 0.0, column)
        column = pc.if_else(pc.is_nan(column), math.nan, column)
    whole = column.combine_chunks()
    return whole if not isinstance(whole, pa.ChunkedArray) else pa.concat_arrays(whole.chunks or [pa.array([], kind)])


def _text(value: pa.Scalar) -> str | None:
    """The text of a value, as Java reads it back; None for null."""
    if not value.is_valid:
        return None
    if pa.types.is_floating(value.type):
        words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
        text = str(value.as_py())
        return words.get(text, text)
    try:
        plain: Any = value.as_py()
    except (ValueError, OverflowError):  # instants that Python's calendar does not have
        return str(value.cast(pa.string()).as_py())
    return str(plain).lower() if isinstance(plain, bool) else str(plain)
