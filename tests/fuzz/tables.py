"""Random tables with a period, and what their rows mean in plain Python integers."""

import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

import timeloom as tl

FOREVER = 2**63 - 1
START_SHIFT = {"left": 0, "both": 0, "right": 1, "neither": 1}
END_SHIFT = {"left": 0, "both": 1, "right": 1, "neither": 0}


@dataclass(frozen=True)
class Kind:
    """A type of period columns: what one tick is in the stored numbers, and ticks from which on values are drawn."""

    type: pa.DataType
    stored: Fraction = Fraction(1)
    step: int = 1
    bases: tuple[int, ...] = (0,)
    edges: tuple[int, ...] = ()


def _integers(type_: pa.DataType, low: int, high: int) -> Kind:
    return Kind(type_, bases=(20,) if low == 0 else (20, -5), edges=(low, high - 16))


_SIGNED = {f"int{bits}": (getattr(pa, f"int{bits}")(), -(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)}
_UNSIGNED = {f"uint{bits}": (getattr(pa, f"uint{bits}")(), 0, 2 ** min(bits, 63)) for bits in (8, 16, 32, 64)}
_DAY = Fraction(86_400_000)
_UNITS = {
    "s": (Fraction(1, 10**6), 10**6),
    "ms": (Fraction(1, 1000), 1000),
    "us": (Fraction(1), 1),
    "ns": (Fraction(1000), 1),
}
_ZONES = (None, "UTC", "Europe/Berlin", "+05:30")

KINDS = {
    **{name: _integers(*limits) for name, limits in (_SIGNED | _UNSIGNED).items()},
    "date32": Kind(pa.date32(), bases=(19_000, -3)),
    "date64": Kind(pa.date64(), _DAY, bases=(19_000, -3)),
    **{
        f"timestamp {unit} {zone}": Kind(
            pa.timestamp(unit, zone), stored, step, bases=(1_600_000_000 * 10**6, -4 * 10**6)
        )
        for unit, (stored, step) in _UNITS.items()
        for zone in _ZONES
    },
}
AXES = {
    "integer": [*_SIGNED, *_UNSIGNED],
    "date": ["date32", "date64"],
    "plain": [name for name in KINDS if name.endswith("None")],
    "zoned": [name for name in KINDS if name.startswith("timestamp") and not name.endswith("None")],
}

KEYS = {
    "string": (pa.string(), ["a", "b", "", None]),
    "large_string": (pa.large_string(), ["a", "b", "", None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "", None]),
    "int32": (pa.int32(), [0, 1, 2, None]),
    "int64": (pa.int64(), [0, 1, 2, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.0, float("nan"), None]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.00"), Decimal("1.00"), None]),
    "bool": (pa.bool_(), [True, False, None]),
}
KEY_FAMILIES = (("string", "large_string", "dictionary"), ("int32", "int64", "double", "decimal"), ("bool",))

VALUES = {
    "int": (pa.int32(), [-3, 0, 1, 7, 2**31 - 1, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 5, 0, None]),
    "double": (pa.float64(), [0.1, 0.2, -0.3, 1e300, -1e300, 1e-300, 5e-324, 3.0, None]),
    "decimal": (pa.decimal128(12, 2), [Decimal("1.10"), Decimal("-2.25"), Decimal("9999999999.99"), None]),
    "text": (pa.string(), ["x", "y", "", None]),
}


@dataclass(frozen=True)
class Row:
    """One row as it is written: steps from the base, None for null; the end may be the sentinel."""

    start: int | None
    end: int | str | None
    key: object
    value: object


@dataclass(frozen=True)
class Side:
    """A table as it is written down; everything else follows from it."""

    kind: str
    base: int
    step: int
    closed: str
    key_kind: str
    value_kind: str
    sentinel: bool
    rows: tuple[Row, ...]
    chunks: int = 1

    @property
    def is_at_the_edge(self) -> bool:
        """Whether ticks lie at an end of the type's range, where a result may not fit and be refused."""
        return self.base in KINDS[self.kind].edges

    @property
    def far(self) -> int:
        """The sentinel, in steps."""
        return 40

    @property
    def period(self) -> tl.Period:
        """How Timeloom is told to read the rows."""
        end = self._column([self.far])[0].as_py() if self.sentinel else None
        return tl.Period(closed=self.closed, open_end=end)

    def table(self, number: str) -> pa.Table:
        """The table, its rows numbered in a column."""
        key_type, value_type = KEYS[self.key_kind][0], VALUES[self.value_kind][0]
        ends = [self.far if row.end == "sentinel" else row.end for row in self.rows]
        table = pa.table(
            {
                "start": self._column([row.start for row in self.rows]),
                "key": pa.array([row.key for row in self.rows], pa.string()).cast(key_type)
                if pa.types.is_dictionary(key_type)
                else pa.array([row.key for row in self.rows], key_type),
                "end": self._column(ends),
                "value": pa.array([row.value for row in self.rows], value_type),
                number: pa.array(range(len(self.rows)), pa.int32()),
            }
        )
        if self.chunks == 1 or table.num_rows < 2:
            return table
        cut = table.num_rows // 2
        return pa.concat_tables([table.slice(0, cut), table.slice(cut)])

    def spans(self) -> list[tuple[int | None, int]]:
        """Half-open ticks of each row; a null start is None."""
        found = []
        for row in self.rows:
            start = None if row.start is None else self.base + row.start * self.step + START_SHIFT[self.closed]
            is_open = row.end is None or row.end == "sentinel"
            end = FOREVER if is_open else self.base + row.end * self.step + END_SHIFT[self.closed]
            found.append((start, end))
        return found

    def verdicts(self) -> list[str]:
        """What is to be said of each row: valid, invalid or empty."""
        return [_verdict(row, span) for row, span in zip(self.rows, self.spans(), strict=True)]

    def _column(self, steps: list[int | None]) -> pa.Array:
        kind = KINDS[self.kind]
        raw = [None if step is None else int((self.base + step * self.step) * kind.stored) for step in steps]
        if pa.types.is_integer(kind.type):
            return pa.array(raw, kind.type)
        return pa.array(raw, pa.int32() if pa.types.is_date32(kind.type) else pa.int64()).view(kind.type)


def _verdict(row: Row, span: tuple[int | None, int]) -> str:
    start, end = span
    if start is None or (end != FOREVER and row.end < row.start):
        return "invalid"
    return "empty" if end <= start else "valid"


def canonical(key: object) -> object:
    """A key as what it equals: null matches nothing, zeros are one, not-a-number is itself."""
    if isinstance(key, float) and key != key:
        return "not a number"
    return key + 0 if isinstance(key, float) else key


def draw_side(rng: random.Random, kind: str, base: int, step: int, key_kind: str, most: int = 7) -> Side:
    """A random table of this kind."""
    sentinel, ill = rng.random() < 0.2 and base not in KINDS[kind].edges, rng.random() < 0.3
    value_kind = rng.choice(list(VALUES))
    rows = []
    for _ in range(rng.randint(0, most)):
        start: int | None = rng.randint(0, 9)
        end: int | str | None = min(start + rng.choice([1, 1, 2, 3, 6]), 13)
        if rng.random() < 0.1:
            end = "sentinel" if sentinel else None
        if ill and rng.random() < 0.3:
            start, end = rng.choice([(None, 5), (start, start), (start, max(start - 2, 0)), (None, None)])
        rows.append(Row(start, end, rng.choice(KEYS[key_kind][1]), rng.choice(VALUES[value_kind][1])))
    closed = rng.choice(["left", "left", "both", "right", "neither"])
    return Side(kind, base, step, closed, key_kind, value_kind, sentinel, tuple(rows), rng.choice([1, 1, 2]))


def draw_pair(rng: random.Random) -> tuple[Side, Side]:
    """Two random tables on one axis, from one base, with keys that can be compared."""
    kinds = AXES[rng.choice(list(AXES))]
    one = rng.choice(kinds)
    other = one if rng.random() < 0.5 else rng.choice(kinds)
    edge = one == other and bool(KINDS[one].edges) and rng.random() < 0.2
    shared = [base for base in KINDS[one].bases if base in KINDS[other].bases]
    base = rng.choice(KINDS[one].edges) if edge else rng.choice(shared)
    step = max(KINDS[one].step, KINDS[other].step)
    family = rng.choice(KEY_FAMILIES)
    left, right = (draw_side(rng, kind, base, step, rng.choice(family)) for kind in (one, other))
    return left, right
