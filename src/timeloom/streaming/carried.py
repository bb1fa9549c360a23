"""The rows of one side of a stream that results may still name: ids, keys, periods, and the columns asked for."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.taking import taken
from timeloom.errors import InvalidInputError
from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.gapless import Cells
from timeloom.model.ticks import FOREVER
from timeloom.streaming.intake import Events, Ids
from timeloom.streaming.storage import malformed

NO_ROW = -1
"""The position of a row that does not exist."""

NUMBER, KEY, ID, START, END, CLOSING, MATCHED = range(7)
FIELDS = 7
"""What is kept of a row beside its columns; ``CLOSING`` is the number of the event that ended it, if that has values
of its own, and ``MATCHED`` says whether a pair of it has left."""

SPARE = 1024
"""Rows that may be out of use before the used ones are counted."""


class Carried:
    """The rows of one side, by number. Values of an end stand in for those that the start did not have."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.fields: Cells = np.empty((FIELDS, 0), np.int64)
        self.columns: dict[str, pa.ChunkedArray] = {}
        self._at_last = 0

    def __len__(self) -> int:
        return int(self.fields.shape[1])

    def add(self, events: Events, keys: Ids | None, payload: pa.Table, *, whole: bool) -> None:
        """Keep the events of a table, which are numbered; ends only where they have values."""
        assert events.numbers is not None
        kept = events.starting.copy()
        for column in payload.columns:
            kept |= np.asarray(column.is_valid())
        fresh = np.empty((FIELDS, events.ids.size), np.int64)
        fresh[NUMBER], fresh[ID], fresh[START] = events.numbers, events.ids, events.times
        fresh[KEY] = 0 if keys is None else keys
        fresh[END] = events.ends if whole else FOREVER
        fresh[CLOSING], fresh[MATCHED] = NO_ROW, 0
        if not kept.all():
            fresh = fresh[:, kept]
            chosen = pa.array(np.flatnonzero(kept))
            payload = pa.table({name: taken(payload[name], chosen, name) for name in payload.column_names})
        held = len(self)
        self.fields = np.concatenate([self.fields, fresh], axis=1)
        for name in payload.column_names:
            self.columns[name] = self._longer(name, payload[name], held)

    def _longer(self, name: str, more: pa.ChunkedArray, held: int) -> pa.ChunkedArray:
        before = self.columns.get(name)
        chunks = [pa.nulls(held, more.type)] if before is None else before.chunks
        return pa.chunked_array([*chunks, *more.chunks], more.type)

    def check(self, payload: pa.Table) -> None:
        """Refuse columns whose types have changed."""
        for name in payload.column_names:
            known, kind = self.columns.get(name), payload.schema.field(name).type
            if known is not None and known.type != kind:
                raise InvalidInputError(
                    f"column {name!r} of the {self.side} side was {known.type} and is {kind} now; keep one type"
                )

    def keep_columns(self, names: tuple[str, ...]) -> None:
        """Forget all columns but these."""
        self.columns = {name: column for name, column in self.columns.items() if name in names}

    def positions(self, numbers: Ids) -> Ids:
        """Where the rows with these numbers lie."""
        found: Ids = np.searchsorted(self.fields[NUMBER], numbers)
        return found

    def end(self, numbers: Ids, closings: Ids, times: Ticks) -> None:
        """Note that rows have ended, by which events and when."""
        if not numbers.size:
            return
        at, own = self.positions(numbers), self.positions(closings)
        has_values = np.isin(closings, self.fields[NUMBER]) if len(self) else np.zeros(own.size, np.bool_)
        self.fields[END, at] = times
        self.fields[CLOSING, at] = np.where(has_values, closings, NO_ROW)

    def known_ends(self, positions: Ids, instants: Ticks, *, whole: bool) -> Ticks:
        """The ends of rows as they are known at some instants; FOREVER where they are not."""
        ends = self._field(END, positions)
        known: Ticks = ends if whole else np.where(ends <= instants, ends, FOREVER)
        return known

    def starts(self, positions: Ids) -> Ticks:
        """The starts of rows."""
        return self._field(START, positions)

    def ids(self, positions: Ids) -> Ids:
        """The ids of rows, as numbers."""
        return self._field(ID, positions)

    def _field(self, which: int, positions: Ids) -> Ids:
        if not len(self):
            return np.full(positions.size, FOREVER)
        found: Ids = self.fields[which, np.maximum(positions, 0)]
        return found

    def values(self, name: str, positions: Ids, instants: Ticks) -> pa.ChunkedArray:
        """A column of rows, as it is known at some instants; null where there is no row."""
        if name not in self.columns:
            return pa.chunked_array([pa.nulls(positions.size)])
        column = self._whole(name)
        found = taken(column, _rows(positions), name)
        closings = np.where(self._field(END, positions) <= instants, self._field(CLOSING, positions), NO_ROW)
        closings[positions == NO_ROW] = NO_ROW
        if (closings != NO_ROW).any():
            at = np.where(closings == NO_ROW, NO_ROW, self.positions(closings))
            last = taken(column, _rows(at), name)
            found = pc.if_else(found.is_null(), last, found)
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])

    def _whole(self, name: str) -> pa.ChunkedArray:
        """A column in one piece, which is kept so."""
        column = self.columns[name]
        if column.num_chunks > 1:
            column = self.columns[name] = pa.chunked_array([column.combine_chunks()], column.type)
        return column

    @property
    def next_number(self) -> int:
        """A number that is larger than all."""
        return int(self.fields[NUMBER, -1]) + 1 if len(self) else 0

    def restore(self, fields: Cells, columns: dict[str, pa.ChunkedArray], used: Ids) -> None:
        """Go on from what was stored, which must have a row for each number in use."""
        if (
            fields.ndim != 2
            or len(fields) != FIELDS
            or any(len(column) != fields.shape[1] for column in columns.values())
        ):
            raise malformed("what rows carry is not what is stored of it")
        numbers, closings = fields[NUMBER], fields[CLOSING]
        in_order = bool((numbers[1:] > numbers[:-1]).all()) and (not numbers.size or int(numbers[0]) >= 0)
        if not in_order or not np.isin(closings[closings != NO_ROW], numbers).all():
            raise malformed("rows that carry columns are out of order, or end by no event")
        if not np.isin(used, numbers).all():
            raise malformed("a row carries no columns")
        self.fields, self.columns = fields, columns

    @property
    def is_roomy(self) -> bool:
        """Whether it is time to ask which rows are in use."""
        return len(self) > 2 * self._at_last + SPARE

    def keep_only(self, used: Ids) -> None:
        """Forget all rows but those with these numbers, and the ends that have values for them."""
        numbers = self.fields[NUMBER]
        kept = np.isin(numbers, used)
        closings = self.fields[CLOSING, kept]
        kept |= np.isin(numbers, closings[closings != NO_ROW])
        self._at_last = int(kept.sum())
        if kept.all():
            return
        chosen = pa.array(np.flatnonzero(kept))
        self.fields = np.ascontiguousarray(self.fields[:, kept])
        self.columns = {
            name: pa.chunked_array([taken(self._whole(name), chosen, name).combine_chunks()])
            for name in list(self.columns)
        }


def _rows(positions: Ids) -> pa.Array:
    none: NDArray[np.bool_] = positions == NO_ROW
    return pa.array(positions, mask=none) if none.any() else pa.array(positions)
