"""Ids of rows as int64 numbers, and back. Integers are their own numbers; anything else is numbered as it comes."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import filled, from_numpy, to_numpy
from timeloom.engines.tables.ticks import whole
from timeloom.errors import InvalidInputError
from timeloom.kernels.order import distinct
from timeloom.model.ticks import MAX_TICK
from timeloom.streaming.storage import malformed

FAMILIES: dict[str, tuple[Any, ...]] = {
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "bytes": (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    ),
    "numbers": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "instants": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,),
    "times of a calendar": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,),
    "dates": (pa.types.is_date,),
    "times of day": (pa.types.is_time,),
    "durations": (pa.types.is_duration,),
}

NAN = float("nan")
"""The one NaN that stands for all: only the same object is found again."""

SPARE = 1024
"""Numbers that may be out of use before the used ones are counted."""


def hashable(column: pa.ChunkedArray) -> list[Any]:
    """Values by which equal ones are found: all NaNs are one."""
    values = list(column.to_pylist())
    if family(column.type) != "numbers":
        return values
    return [NAN if isinstance(value, float) and math.isnan(value) else value for value in values]


def check_hashable(kind: pa.DataType, what: str) -> None:
    """Refuse types whose values cannot be told apart by their hash."""
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise InvalidInputError(f"{what} is {kind}; expected booleans, numbers, text, bytes or times: cast it")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of single values."""
    return kind.value_type if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) else kind


def family(kind: pa.DataType) -> str:
    """What values of a type can equal those of others in."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return family(kind.value_type)
    for name, tests in FAMILIES.items():
        if any(test(kind) for test in tests):
            return name
    return str(kind)


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
        """Whether ids are integers that are their own numbers."""
        return self.type is None or (pa.types.is_integer(self.type) and not pa.types.is_uint64(self.type))

    def numbers(self, column: pa.ChunkedArray) -> NDArray[np.int64]:
        """The numbers of these ids; nulls become 0 and must be sorted out by the caller."""
        if self.type is None:
            check_hashable(column.type, f"the ids of the {self.side} side")
            self.type = column.type
        elif not column.type.equals(self.type):
            raise InvalidInputError(
                f"the ids of the {self.side} side were {self.type} and are {column.type} now; keep one type"
            )
        if self.plain:
            array = filled(whole(column), 0)
            return to_numpy(array if array.type == pa.int64() else array.cast(pa.int64()))
        return np.array([self._number(value) for value in hashable(column)], np.int64)

    def values(self, numbers: NDArray[np.int64], null: NDArray[np.bool_] | None = None) -> pa.Array:
        """The ids that have these numbers."""
        kind = self.type or pa.int64()
        if self.plain:
            found = from_numpy(numbers, mask=null)
            return found if kind == pa.int64() else found.cast(kind)
        gone = np.zeros(numbers.size, np.bool_) if null is None else null
        pairs = zip(numbers.tolist(), gone.tolist(), strict=True)
        return pa.array([None if missing else self._values[number] for number, missing in pairs], kind)

    def dump(self) -> list[Any]:
        """What is to be stored: the last number given, and the ids by number."""
        return [self._next, list(self._values.items())]

    def load(self, dumped: Any, used: NDArray[np.int64]) -> None:
        """Go on from what was stored, which must have an id for each number in use."""
        last, values = _checked(dumped)
        if not self.plain and not set(used.tolist()) <= values.keys():
            raise malformed("a row has a number without an id")
        self._next, self._values = last, values
        self._numbers = {value: number for number, value in values.items()}

    def table(self) -> pa.Table:
        """The ids by number, as a table; integers are their own numbers."""
        kind = plain_type(self.type or pa.int64())
        known = {} if self.plain else self._values
        return pa.table({"number": pa.array(list(known), pa.int64()), "id": pa.array(list(known.values()), kind)})

    def read(self, table: pa.Table, kind: "pa.DataType | None", used: NDArray[np.int64]) -> None:
        """Go on from such a table, which must have an id for each number in use."""
        if kind is None:
            return
        self.type = kind
        if self.plain:
            return
        numbers, values = table["number"].to_pylist(), hashable(table["id"])
        sound = table["id"].type == plain_type(kind) and len(set(numbers)) == len(set(values)) == len(numbers)
        if not sound or None in values or not set(used.tolist()) <= set(numbers) or min(numbers, default=1) < 1:
            raise malformed("the ids of a side are not what is stored of them")
        self._values, self._next = dict(zip(numbers, values, strict=True)), max(numbers, default=0)
        self._numbers = {value: number for number, value in self._values.items()}

    def keep_only(self, used: NDArray[np.int64], spare: int = SPARE) -> None:
        """Forget the ids whose numbers are not in use, once there are many of them."""
        if self.plain or len(self._values) <= 2 * used.size + spare:
            return
        self._values = {number: self._values[number] for number in distinct(used).tolist()}
        self._numbers = {value: number for number, value in self._values.items()}

    def _number(self, value: Any) -> int:
        if value is None:
            return 0
        number = self._numbers.get(value)
        if number is None:
            number = self._next = self._next + 1
            self._numbers[value], self._values[number] = number, value
        return number


def _checked(dumped: Any) -> tuple[int, dict[int, str]]:
    """The last number and the ids by number, if that is what was stored."""
    is_pair = isinstance(dumped, list) and len(dumped) == 2 and type(dumped[0]) is int and isinstance(dumped[1], list)
    if not is_pair:
        raise malformed("the ids of a side are not what is stored of them")
    last, pairs = dumped
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and isinstance(pair[1], str)):
            raise malformed(f"{pair!r} is no number with its id")
    values = dict(pairs)
    sound = len(set(values.values())) == len(pairs) and 0 <= last < MAX_TICK
    if not (sound and all(0 < number <= last for number in values)):
        raise malformed("two ids share a number, or two numbers an id")
    return last, values
