"""Period columns that a file has as text because some of their values are no times: a bad value is an invalid row.

A column of a file gets one type, so a single value that is no time leaves the whole column text. Its other values are
read as what they are; rows with a value that cannot be read are refused, dropped or set aside, as ``on_invalid`` says.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from timeloom.errors import DroppedRowsWarning, InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from timeloom.model.period import Period

KINDS = ("bigint", "date", "timestamp_ntz", "timestamp")
"""What texts of times are, tried in this order: ISO 8601, or numbers."""

LOOKED_AT = 1_000
"""How many values show whether a column holds times at all: if not, each of its values would be tried in vain."""

CLOCK = ("%H", "%I", "%M", "%S", "%T", "%R", "%s", "%c", "%X")


@dataclass(frozen=True)
class TimeTexts:
    """A column of texts read as times.

    Parameters
    ----------
    times
        The column; null where a text is no time.
    failed
        The rows with such texts.
    kind
        What the others are.
    """

    times: "pa.ChunkedArray"
    failed: "NDArray[np.bool_]"
    kind: str

    def holds_for_most(self, texts: "pa.ChunkedArray") -> bool:
        """Whether more than half of the texts that were read are times."""
        return bool(2 * self.failed.sum() < len(texts) - texts.null_count)

    def complaint(self, name: str, path: str, texts: "pa.ChunkedArray") -> str:
        """How many values are none, and the first of them."""
        row = int(self.failed.argmax())
        return (
            f"{self.failed.sum():,} of {self.failed.size:,} values in column {name!r} of {path!r} are no {self.kind}, "
            f"the first is {texts[row].as_py()!r} in row {row + 1}"
        )


def strptime(texts: "pa.ChunkedArray", form: str) -> "TimeTexts":
    """Texts as times of one format; as dates if it has no time of day."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = pc.strptime(texts, format=form, unit="us", error_is_null=True)
    failed = pc.and_(times.is_null(), texts.is_valid()).to_numpy()
    clock = any(sign in form for sign in CLOCK)
    return TimeTexts(times if clock else times.cast(pa.date32()), failed, f"time as {form!r} has it")


def mostly_times(texts: "pa.ChunkedArray", formats: tuple[str, ...]) -> TimeTexts | None:
    """Texts of which most are times of one kind, read as these; None if there is no such kind."""
    first = texts.drop_null().slice(0, LOOKED_AT)
    for read in _ways(formats):
        if read(first).holds_for_most(first):
            return read(texts)
    return None


def _ways(formats: tuple[str, ...]) -> "Iterator[Callable[[pa.ChunkedArray], TimeTexts]]":
    """The ways to read texts: those that the user names, else the usual ones."""
    from timeloom.pipeline.tables.parsing import parsed_texts

    def written_as(form: str) -> "Callable[[pa.ChunkedArray], TimeTexts]":
        return lambda texts: strptime(texts, form)

    def of(kind: str) -> "Callable[[pa.ChunkedArray], TimeTexts]":
        return lambda texts: TimeTexts(*parsed_texts(texts, kind), kind)

    yield from map(written_as, formats)
    yield from map(of, KINDS)


def readable(
    table: "pa.Table", periods: "Iterable[Period]", formats: tuple[str, ...], path: str, policy: str | None
) -> "tuple[pa.Table, pa.Table]":
    """A table with the times of its periods read, and the rows in which one cannot be, as they were, with a reason.

    ``policy`` is what becomes of invalid rows; None if the command has no say in it, so that they are refused.
    """
    import pyarrow as pa

    reasons = np.full(table.num_rows, "", object)
    read = table
    for name in dict.fromkeys(name for period in periods for name in (period.start, period.end)):
        if name not in table.column_names or not pa.types.is_string(table[name].type):
            continue
        found = mostly_times(table[name], formats)
        if found is None:
            continue
        if found.failed.any() and policy not in ("quarantine", "drop"):
            hint = ", or add --rejected FILE, where such rows go, or --on-invalid drop" if policy else ""
            raise InvalidInputError(f"{found.complaint(name, path, table[name])}; mend them{hint}")
        if found.failed.any() and policy == "drop":
            warnings.warn(f"dropped rows: {found.complaint(name, path, table[name])}", DroppedRowsWarning, stacklevel=2)
        reasons[found.failed & (reasons == "")] = f"{name} is no {found.kind}"
        read = read.set_column(table.column_names.index(name), name, found.times)
    bad = np.flatnonzero(reasons != "")
    if not bad.size:
        return read, unread_rows(table.slice(0, 0), [])
    return read.filter(pa.array(reasons == "")), unread_rows(table.take(pa.array(bad)), reasons[bad].tolist())


def unread_rows(rows: "pa.Table", reasons: list[str]) -> "pa.Table":
    """Rows with their reasons, as verbs hand out invalid ones."""
    import pyarrow as pa

    from timeloom.engines.tables.validity import free_name

    return rows.append_column(free_name("reason", rows.column_names), pa.array(reasons, pa.string()))


def with_unread(rejected: "pa.Table", unread: "list[pa.Table | None]") -> "pa.Table":
    """The rows that a verb rejected and those that could not be read; columns that are text in one are text in both.

    ``unread`` has a table for each input, None for an index.
    """
    import pyarrow as pa

    from timeloom.engines.tables.validity import merge_rejected

    tables = [unread_rows(pa.table({}), []) if rows is None else rows for rows in unread]
    if not any(rows.num_rows for rows in tables):
        return rejected
    aside = merge_rejected(*tables) if len(tables) == 2 else tables[0]
    for at, field in enumerate(rejected.schema):
        if field.name in aside.column_names and aside.schema.field(field.name).type != field.type:
            rejected = rejected.set_column(at, field.name, rejected[field.name].cast(pa.string()))
    return pa.concat_tables([rejected, aside], promote_options="default")
