"""Row numbers of the user's table against rows in order of arrival."""

from dataclasses import dataclass

import numpy as np

from timeloom.bitemporal.columns import GrowingArray
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.bitemporal.windows import Ticks

FORGOTTEN = -1


def numbered(rows: Ticks, numbers: Ticks | None, *, in_order: bool) -> Ticks:
    """The user's numbers of ascending rows, ascending."""
    if numbers is None:
        return rows
    return numbers[rows] if in_order else np.sort(numbers[rows])


@dataclass(frozen=True)
class RowNumbers:
    """Which row of the user's table arrived as which. While all arrive in order, the two are the same."""

    total: int = 0
    numbers: GrowingArray | None = None
    positions: GrowingArray | None = None
    in_order: bool = True

    def appended(self, count: int, order: Ticks | None = None) -> "RowNumbers":
        """More rows, which arrive in their order; or the k-th to arrive is row ``order[k]`` of what is appended now."""
        total, in_order = self.total + count, order is None
        if self.numbers is None and in_order:
            return RowNumbers(total)
        order = np.arange(count) if order is None else order
        numbers, positions = self._arrays()
        arrived = numbers.size
        positions_of_new = np.empty(order.size, np.int64)
        positions_of_new[order] = np.arange(arrived, arrived + order.size)
        return RowNumbers(
            total,
            numbers.appended(self.total + order),
            positions.appended(positions_of_new),
            self.in_order and in_order,
        )

    def kept(self, rows: Ticks) -> "RowNumbers":
        """Forget all rows but these; they move together and keep their numbers."""
        numbers, positions = self._arrays()
        kept = numbers.values[rows]
        fresh = np.full(positions.size, FORGOTTEN, np.int64)
        fresh[kept] = np.arange(rows.size)
        return RowNumbers(self.total, GrowingArray.of(kept), GrowingArray.of(fresh), self.in_order)

    def of(self, rows: Ticks) -> Ticks:
        """The user's numbers of rows, ascending."""
        return numbered(rows, self.pinned(), in_order=self.in_order)

    def pinned(self) -> Ticks | None:
        """The user's numbers of all present rows, or None if they are their positions."""
        return None if self.numbers is None else self.numbers.values

    def check(self, numbers: Ticks) -> None:
        """Refuse numbers that no row has."""
        unknown = numbers[(numbers < 0) | (numbers >= self.total)]
        if unknown.size:
            held = f"the rows 0 to {self.total - 1}" if self.total else "no rows"
            raise InvalidInputError(
                f"row {unknown[0]} is unknown: the index holds {held}; "
                "give row numbers as `append` counted them, from 0"
            )

    def rows(self, numbers: Ticks) -> Ticks:
        """The positions of rows by the user's numbers; unknown ones are an error."""
        self.check(numbers)
        if self.positions is None:
            return numbers
        rows = self.positions.values[numbers]
        gone = numbers[rows == FORGOTTEN]
        if gone.size:
            raise InvalidInputError(f"row {gone[0]} has ended before and was forgotten; end each row once")
        return rows

    def _arrays(self) -> tuple[GrowingArray, GrowingArray]:
        if self.numbers is None or self.positions is None:
            every = np.arange(self.total, dtype=np.int64)
            return GrowingArray.of(every), GrowingArray.of(every.copy())
        return self.numbers, self.positions


def read_numbers(rows: object) -> Ticks:
    """Row numbers as the user gives them: an array or a list of whole numbers."""
    try:
        numbers = np.asarray(rows)
    except ValueError:
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise UsageError(f"rows={shown(rows)} are no row numbers; give a list or an array of whole numbers")
    return numbers.astype(np.int64)
