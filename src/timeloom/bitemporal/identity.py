"""Row numbers of the user's table against rows in order of arrival."""

import numpy as np

from timeloom.bitemporal.columns import GrowingArray
from timeloom.errors import InvalidInputError
from timeloom.kernels.bisw import Ticks

FORGOTTEN = -1


def numbered(rows: Ticks, numbers: Ticks | None, *, in_order: bool) -> Ticks:
    """The user's numbers of ascending rows, ascending."""
    if numbers is None:
        return rows
    return numbers[rows] if in_order else np.sort(numbers[rows])


class RowNumbers:
    """Which row of the user's table arrived as which. While all arrive in order, the two are the same."""

    def __init__(self) -> None:
        self.total = 0
        self.numbers: GrowingArray | None = None
        self.places: GrowingArray | None = None
        self.in_order = True

    def append(self, order: Ticks) -> None:
        """Add rows: the k-th to arrive is row ``order[k]`` of what is appended now."""
        in_order = np.array_equal(order, np.arange(order.size))
        self.in_order = self.in_order and in_order
        if self.numbers is None and in_order:
            self.total += order.size
            return
        numbers, places = self._arrays()
        arrived = numbers.size
        places_of_new = np.empty(order.size, np.int64)
        places_of_new[order] = np.arange(arrived, arrived + order.size)
        numbers.append(self.total + order)
        places.append(places_of_new)
        self.total += order.size

    def keep(self, rows: Ticks) -> None:
        """Forget all rows but these; they move together and keep their numbers."""
        numbers, places = self._arrays()
        kept = numbers.values[rows]
        fresh = np.full(places.size, FORGOTTEN, np.int64)
        fresh[kept] = np.arange(rows.size)
        self.numbers, self.places = GrowingArray.of(kept), GrowingArray.of(fresh)

    def of(self, rows: Ticks) -> Ticks:
        """The user's numbers of rows, ascending."""
        return numbered(rows, self.pinned(), in_order=self.in_order)

    def pinned(self) -> Ticks | None:
        """The user's numbers of all present rows, or None if they are their places."""
        return None if self.numbers is None else self.numbers.values

    def rows(self, numbers: Ticks) -> Ticks:
        """The places of rows by the user's numbers; unknown ones are an error."""
        unknown = numbers[(numbers < 0) | (numbers >= self.total)]
        if unknown.size:
            raise InvalidInputError(
                f"row {unknown[0]} is unknown: the index holds the rows 0 to {self.total - 1}; "
                "give row numbers as `append` counted them, from 0"
            )
        if self.places is None:
            return numbers
        rows = self.places.values[numbers]
        gone = numbers[rows == FORGOTTEN]
        if gone.size:
            raise InvalidInputError(f"row {gone[0]} has ended before and was forgotten; end each row once")
        return rows

    def _arrays(self) -> tuple[GrowingArray, GrowingArray]:
        if self.numbers is None or self.places is None:
            self.numbers = GrowingArray.of(np.arange(self.total, dtype=np.int64))
            self.places = GrowingArray.of(np.arange(self.total, dtype=np.int64))
        return self.numbers, self.places
