"""The values of key columns as numbers, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.key_types import as_key, common_type
from timeloom.engines.tables.taking import taken
from timeloom.errors import InvalidInputError
from timeloom.streaming.intake import Ids
from timeloom.streaming.names import SPARE, check_hashable, family, hashable, plain_type
from timeloom.streaming.storage import malformed


class Keys:
    """The values of key columns as numbers, and back.

    Equal values are one key: 1 and 1.0, 0.0 and -0.0, equal instants of different units, and all NaNs. Results have the
    left side's values in its types where each of them has a left row. Keys that are ``shared`` may come from the right
    side alone, and have the type that holds the values of both sides, as far as these have come.
    """

    def __init__(self, columns: tuple[str, ...], *, shared: bool = False) -> None:
        self.columns = columns
        self.shared = shared
        self._types: dict[str, list[pa.DataType]] = {}
        self._numbers: dict[object, int] = {}
        self._values: dict[int, object] = {}
        self._free: list[int] = []
        self._next = self._at_last = 0

    def numbers(self, table: pa.Table, side: str) -> tuple[Ids | None, NDArray[np.bool_] | None]:
        """The number of each row's key, if there are keys; and which rows have none, if any: a null equals nothing."""
        if not self.columns:
            return None, None
        self._check_types(table, side)
        missing = None
        for name in self.columns:
            if table[name].null_count:
                null = np.asarray(table[name].is_null())
                missing = null if missing is None else missing | null
        values, decides = self._read([table[name] for name in self.columns]), side == "left"
        return np.array([self._number(value, decides=decides) for value in values], np.int64), missing

    def _read(self, columns: list[pa.ChunkedArray]) -> list[object]:
        """Values by which keys are found: those of one column as they are, which takes less memory for a key."""
        lists = [hashable(column) for column in columns]
        return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))

    def _part(self, number: int, at: int) -> object:
        """What the key of a number has in one column."""
        value = self._values[number]
        return value if len(self.columns) == 1 else value[at]  # type: ignore[index]

    def _check_types(self, table: pa.Table, side: str) -> None:
        """Keys of one side keep their types; those of both sides can be equal, and have a type that holds them."""
        types = [table.schema.field(name).type for name in self.columns]
        for name, kind, known in zip(self.columns, types, self._types.get(side, types), strict=True):
            if not kind.equals(known):
                raise InvalidInputError(
                    f"the keys {name!r} of the {side} side were {known} and are {kind} now; keep one type"
                )
            check_hashable(kind, f"the key column {name!r} of the {side} table")
        other = self._types.get("right" if side == "left" else "left", types)
        for name, kind, theirs in zip(self.columns, types, other, strict=True):
            if family(kind) != family(theirs) and not (pa.types.is_null(kind) or pa.types.is_null(theirs)):
                raise InvalidInputError(f"the keys {name!r} ({kind}) and {name!r} ({theirs}) cannot be equal; cast one")
            if self.shared:
                as_key(table[name], common_type(kind, theirs) or kind, name)
        self._types[side] = types

    def arrays(self, numbers: Ids) -> dict[str, pa.Array]:
        """The key columns of rows with the keys of these numbers."""
        if not self.columns:
            return {}
        used, positions = np.unique(numbers, return_inverse=True)
        return {
            name: taken(_column([self._part(number, at) for number in used.tolist()], kind), pa.array(positions), name)
            for at, (name, kind) in enumerate(zip(self.columns, self._result_types(), strict=True))
        }

    def _parts(self, number: int) -> tuple[object, ...]:
        return tuple(self._part(number, at) for at in range(len(self.columns)))

    def _result_types(self) -> list[pa.DataType]:
        left, right = (self._types.get(side) for side in ("left", "right"))
        if left and right and self.shared:
            return [common_type(*kinds) or kinds[0] for kinds in zip(left, right, strict=True)]
        return left or right or [pa.null()] * len(self.columns)

    def tables(self) -> dict[str, pa.Table]:
        """The keys as tables: the types of each side's columns, and values by number, in a type that has them."""
        found = {
            f"{side} keys": pa.schema(zip(self.columns, kinds, strict=True)).empty_table()
            for side, kinds in self._types.items()
        }
        numbers = sorted(self._numbers.values()) if self.columns else []
        for side, kinds in self._types.items():
            own = [number for number in numbers if _fits(self._parts(number), kinds)]
            known = set(own)
            numbers = [number for number in numbers if number not in known]
            columns = {
                f"key {at}": pa.array([self._part(number, at) for number in own], plain_type(kind))
                for at, kind in enumerate(kinds)
            }
            found[f"{side} values"] = pa.table({"number": pa.array(own, pa.int64()), **columns})
        assert not numbers, "a key is of no side's type"
        return found

    def read(self, parts: Mapping[str, Any], used: "set[int]") -> None:
        """Go on from such tables, which must have a key for each number in use."""
        for side in ("left", "right"):
            if f"{side} keys" not in parts:
                continue
            schema, values = parts[f"{side} keys"].schema, parts[f"{side} values"]
            if tuple(schema.names) != self.columns:
                raise malformed("the keys are other columns")
            self._types[side] = list(schema.types)
            keys = self._read([values[f"key {at}"] for at in range(len(self.columns))]) if self.columns else []
            for number, value in zip(values["number"].to_pylist(), keys, strict=bool(self.columns)):
                if value in self._numbers or number in self._values or number < 0:
                    raise malformed("two keys share a number, or two numbers a key")
                self._numbers[value], self._values[number] = number, value
        if self.columns and not used <= self._values.keys():
            raise malformed("a row has a number without a key")
        self._next = max(self._values, default=-1) + 1

    def keep_only(self, used: set[int]) -> None:
        """Forget the keys that are not in use, once there are many of them; their numbers are given again."""
        self._at_last = len(used)
        if len(self._numbers) > 2 * len(used) + SPARE:
            self._free += [number for number in self._values if number not in used]
            self._values = {number: value for number, value in self._values.items() if number in used}
            self._numbers = {value: number for number, value in self._values.items()}

    @property
    def is_roomy(self) -> bool:
        """Whether it is time to ask which keys are in use."""
        return len(self._numbers) > 2 * self._at_last + SPARE

    def _number(self, value: object, *, decides: bool) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._free.pop() if self._free else self._next
            self._next = max(self._next, number + 1)
            self._numbers[value], self._values[number] = number, value
        elif decides:
            self._values[number] = value
        return number


def _fits(values: tuple[Any, ...], kinds: list[pa.DataType]) -> bool:
    """Tell whether values of a key are what these types hold, without any change."""
    try:
        arrays = [pa.array([value], plain_type(kind)) for value, kind in zip(values, kinds, strict=True)]
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False
    return tuple(hashable(pa.chunked_array([array]))[0] for array in arrays) == values


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values in a type that holds them; Arrow makes no decimals of floats, nor the other way, but casts them."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.concat_arrays([pa.array([value]).cast(kind) for value in values])
