"""Ids of rows as int64 numbers, and back. Integers are their own numbers; anything else is numbered as it comes."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError

SPARE = 1024
"""Numbers that may be out of use before the used ones are counted."""


class Names:
    """The ids of one side."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.type: pa.DataType | None = None
        self._numbers: dict[Any, int] = {}
        self._values: dict[int, Any] = {}
        self._next = 0

    @property
    def plain(self) -> bool:
        """Whether ids are integers."""
        return self.type is None or pa.types.is_integer(self.type)

    def numbers(self, column: pa.ChunkedArray) -> NDArray[np.int64]:
        """The numbers of these ids; nulls become 0 and must be sorted out by the caller."""
        if self.type is None:
            self.type = column.type
        elif not column.type.equals(self.type):
            raise InvalidInputError(
                f"the ids of the {self.side} side were {self.type} and are {column.type} now; keep one type"
            )
        if self.plain:
            return np.asarray(column.fill_null(0).cast(pa.int64()))
        return np.array([self._number(value) for value in column.to_pylist()], np.int64)

    def values(self, numbers: NDArray[np.int64], null: NDArray[np.bool_] | None = None) -> pa.Array:
        """The ids that have these numbers."""
        kind = self.type or pa.int64()
        if self.plain:
            return pa.array(numbers, pa.int64(), mask=null).cast(kind)
        gone = np.zeros(numbers.size, np.bool_) if null is None else null
        pairs = zip(numbers.tolist(), gone.tolist(), strict=True)
        return pa.array([None if missing else self._values[number] for number, missing in pairs], kind)

    def dump(self) -> list[Any]:
        """What is to be stored: the last number given, and the ids by number."""
        return [self._next, list(self._values.items())]

    def load(self, dumped: list[Any]) -> None:
        """Go on from what was stored."""
        self._next, pairs = dumped
        self._values = dict(pairs)
        self._numbers = {value: number for number, value in self._values.items()}

    def keep_only(self, used: NDArray[np.int64], spare: int = SPARE) -> None:
        """Forget the ids whose numbers are not in use, once there are many of them."""
        if self.plain or len(self._values) <= 2 * used.size + spare:
            return
        self._values = {number: self._values[number] for number in np.unique(used).tolist()}
        self._numbers = {value: number for number, value in self._values.items()}

    def _number(self, value: Any) -> int:
        if value is None:
            return 0
        number = self._numbers.get(value)
        if number is None:
            number = self._next = self._next + 1
            self._numbers[value], self._values[number] = number, value
        return number
