"""Columns brought to their declared types; values that do not fit are marked, not lost."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError
from timeloom.pipeline.definition.models import Source
from timeloom.pipeline.definition.types import family, from_arrow, to_arrow
from timeloom.pipeline.formats.registry import FORMATS


def typed_column(
    column: pa.ChunkedArray, kind: str, name: str, side: str, form: str
) -> tuple[pa.ChunkedArray, NDArray[np.bool_]]:
    """Bring a column to its declared type, and say which values do not fit it."""
    wanted = to_arrow(kind)
    fits = np.zeros(len(column), np.bool_)
    if column.type == wanted:
        return column, fits
    found = from_arrow(column.type)
    if holds_texts(form) and found == "string":
        return parsed_texts(column, kind)
    check_type(name, kind, found, side)
    try:
        return column.cast(wanted), fits
    except pa.ArrowInvalid as error:
        raise InvalidInputError(
            f"column {name!r} of source {side!r} is {column.type} and does not fit the declared type {kind}: {error}"
        ) from error


def check_type(name: str, declared: str, found: str, side: str) -> None:
    """Refuse a column whose type has another meaning than the declared one."""
    if family(found) != family(declared) and found != "null":
        raise InvalidInputError(
            f"the schema of source {side!r} has changed: column {name!r} is {found}, declared is {declared}; "
            "change the declaration, or convert the data"
        )


def parsed_texts(column: pa.ChunkedArray, kind: str) -> tuple[pa.ChunkedArray, NDArray[np.bool_]]:
    """Parse texts, and say which are not of the kind; distinct ones only, since failures are found by halving."""
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks != 1 else encoded.chunk(0)
    values = _cast_where_possible(encoded.dictionary, _parser(kind), to_arrow(kind))
    result = values.take(encoded.indices)
    failed = pc.and_(result.is_null(), encoded.indices.is_valid())
    return pa.chunked_array([result]), failed.to_numpy(zero_copy_only=False)


def _parser(kind: str) -> "Callable[[pa.Array], pa.Array]":
    if kind != "timestamp":
        return lambda texts: texts.cast(to_arrow(kind))

    def parse(texts: pa.Array) -> pa.Array:
        try:
            return texts.cast(pa.timestamp("us", "UTC"))
        except pa.ArrowInvalid:
            return pc.assume_timezone(texts.cast(pa.timestamp("us")), "UTC")

    return parse


def _cast_where_possible(texts: pa.Array, parse: "Callable[[pa.Array], pa.Array]", kind: pa.DataType) -> pa.Array:
    try:
        return parse(texts)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, kind)
    half = len(texts) // 2
    parts = (texts.slice(0, half), texts.slice(half))
    return pa.concat_arrays([_cast_where_possible(part, parse, kind) for part in parts])


def csv_texts(source: Source) -> tuple[str, ...]:
    """The columns of a source that must be read as text, to be parsed by their declared types."""
    known = FORMATS.get(source.format)
    return tuple(source.columns or ()) if known is not None and known.texts == "all" else ()


def holds_texts(form: str) -> bool:
    """Whether values of a format are written as text: each may or may not fit its declared type."""
    return form in FORMATS and FORMATS[form].texts != "none"
