"""Every type of period column, in every convention, in every verb: values and types against brute force."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference import sequenced
from reference.period_rows import Ranks, Refused, admitted, written

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS = ["s", "ms", "us", "ns"]
AXES = {
    "integer": INTEGERS,
    "date": [pa.date32(), pa.date64()],
    "timestamp": [pa.timestamp(unit) for unit in UNITS],
    "zoned": [pa.timestamp(unit, zone) for unit in UNITS for zone in ("UTC", "+05:30")],
}
RAW_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
CLOSED = st.sampled_from(["left", "right", "both", "neither"])


def column(values, kind):
    """Whole seconds, days or integers as a column."""
    factor = 1
    if pa.types.is_timestamp(kind):
        factor = RAW_PER_SECOND[kind.unit]
    elif pa.types.is_date64(kind):
        factor = 86_400_000
    raw = [None if value is None else value * factor for value in values]
    return pa.array(raw, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)


def ticks(found):
    """A column of a result as ticks: integers, days, microseconds."""
    kind = found.type
    if pa.types.is_date32(kind):
        return found.cast(pa.int32()).to_pylist()
    raw = found.cast(pa.int64()).to_pylist()
    per_tick, per_raw = 1, 1
    if pa.types.is_date64(kind):
        per_tick = 86_400_000
    elif pa.types.is_timestamp(kind):
        per_tick, per_raw = (1000, 1) if kind.unit == "ns" else (1, 1_000_000 // RAW_PER_SECOND[kind.unit])
    return [None if value is None else value * per_raw // per_tick for value in raw]


def result_type(kinds, shifted):
    """The type that result periods have."""
    first = kinds[0]
    if pa.types.is_integer(first):
        found = np.result_type(*(kind.to_pandas_dtype() for kind in kinds))
        return pa.from_numpy_dtype(found) if found.kind in "iu" else pa.int64()
    if pa.types.is_date(first):
        return first if len(set(kinds)) == 1 else pa.date64()
    units = {kind.unit for kind in kinds}
    unit = units.pop() if len(units) == 1 else "us"
    return pa.timestamp("us" if shifted and unit in ("s", "ms") else unit, first.tz)


def holds(kind, tick):
    if tick is None or not pa.types.is_integer(kind):
        return True
    limits = np.iinfo(kind.to_pandas_dtype())
    return limits.min <= tick <= limits.max


@st.composite
def sides(draw, axis, empty):
    """Rows, the types of their columns, the convention, and a sentinel for open ends or None."""
    kinds = draw(st.tuples(st.sampled_from(AXES[axis]), st.sampled_from(AXES[axis])))
    lengths = st.sampled_from([1, 2, 5, None] if empty is None else [-1, 0, 1, 2, 5, None])
    rows = [
        (start, None if length is None else max(0, start + length))
        for start, length in draw(st.lists(st.tuples(st.integers(0, 9), lengths), max_size=5))
    ]
    if empty is not None and draw(st.booleans()):
        rows.append((None, 3))
    return rows, kinds, draw(CLOSED), draw(st.sampled_from([None, 99]))


@st.composite
def cases(draw):
    axis = draw(st.sampled_from(sorted(AXES)))
    empty = draw(st.sampled_from([None, "drop", "point", "error"]))
    return axis, empty, draw(sides(axis, empty)), draw(sides(axis, empty))


class Drawn:
    """A side: its table and period for the verb, and once admitted, what brute force takes of it, in ticks."""

    def __init__(self, axis, side):
        rows, self.kinds, self.closed, sentinel = side
        self.scale = 1_000_000 if axis in ("timestamp", "zoned") else 1
        self.sentinel = None if sentinel is None else sentinel * self.scale
        starts = column([start for start, _ in rows], self.kinds[0])
        ends = column([sentinel if end is None else end for _, end in rows], self.kinds[1])
        self.table = pa.table({"start": starts, "end": ends, "id": pa.array(range(len(rows)), pa.int64())})
        self.period = tl.Period(closed=self.closed, open_end=None if sentinel is None else self._given(sentinel))
        self.raw = [tuple(None if part is None else part * self.scale for part in row) for row in rows]

    def _given(self, sentinel):
        """The sentinel as users write it."""
        kind = pa.timestamp("us", self.kinds[1].tz) if self.scale > 1 else self.kinds[1]
        return column([sentinel], kind)[0].as_py()

    def admit(self, empty):
        kept, _, _ = admitted(self.raw, self.closed, "drop", empty, self.sentinel)
        self.ids, self.rows = [at for at, _ in kept], [period for _, period in kept]

    def write(self, piece):
        return written(piece, self.closed, self.sentinel)


def expected(verb, left, right):
    """(ids and half-open periods) of a verb, by brute force."""
    ranks = Ranks(left.rows, right.rows)
    mine, others = ranks.of(left.rows), ranks.of(right.rows)
    if verb == "coalesce":
        return [((), ranks.back(*piece)) for piece in sequenced.coalesce(mine)]
    if verb == "gaps":
        return [((), ranks.back(*piece)) for piece in (sequenced.gaps(mine, sequenced.span(mine)) if mine else [])]
    if verb == "depth":
        return [((len(rows),), ranks.back(start, end)) for start, end, rows in sequenced.lineage(mine)]
    if verb == "antijoin":
        return [((left.ids[at],), ranks.back(start, end)) for at, start, end in sequenced.antijoin(mine, others)]
    found = sequenced.outer_join(mine, others, "full" if verb == "full" else "inner")
    return [
        ((None if a is None else left.ids[a], None if b is None else right.ids[b]), ranks.back(start, end))
        for a, b, start, end in found
    ]


CALLS = {
    "coalesce": lambda a, b, options, both: tl.coalesce(a, by=[], **options),
    "gaps": lambda a, b, options, both: tl.gaps(a, **options),
    "depth": lambda a, b, options, both: tl.depth(a, **options),
    "antijoin": lambda a, b, options, both: tl.temporal_antijoin(a, b, **both),
    "inner": lambda a, b, options, both: tl.temporal_join(a, b, **both),
    "full": lambda a, b, options, both: tl.temporal_join(a, b, how="full", **both),
    "overlap": lambda a, b, options, both: tl.join(a, b, overlap=True, **both),
}
PAYLOAD = {"coalesce": [], "gaps": [], "depth": ["depth"], "antijoin": ["id"]}


@pytest.mark.filterwarnings("ignore::timeloom.DroppedRowsWarning")
@settings(max_examples=150)
@given(cases(), st.sampled_from(sorted(CALLS)))
def test_every_type_in_every_verb(case, verb):
    axis, empty, *drawn = case
    policy = {"on_invalid": "drop", "empty": empty}
    two = verb not in ("coalesce", "gaps", "depth")
    left, right = Drawn(axis, drawn[0]), Drawn(axis, drawn[1] if two else ([], drawn[0][1], "left", None))
    both = {"left_period": left.period, "right_period": right.period, **policy}

    def call():
        return CALLS[verb](left.table, right.table, {"period": left.period, **policy}, both)

    try:
        left.admit(empty)
        right.admit(empty)
    except Refused:
        with pytest.raises(tl.InvalidInputError, match="the period is empty"):
            call()
        return
    kinds = [*left.kinds, *(right.kinds if two else ())]
    shifted = empty == "point" or left.closed != "left" or (two and right.closed != "left")
    kind = result_type(kinds, shifted)
    wanted = [(ids, left.write(piece)) for ids, piece in expected(verb, left, right)]
    if not all(holds(kind, tick) for _, piece in wanted for tick in piece):
        with pytest.raises(tl.InvalidInputError, match=f"of the result is {kind}, which cannot hold .*cast"):
            call()
        return
    found = call()
    names = ("overlap_start", "overlap_end") if verb == "overlap" else ("start", "end")
    assert [found.schema.field(name).type for name in names] == [kind, kind]
    payload = [found[name].to_pylist() for name in PAYLOAD.get(verb, ["id", "id_right"])]
    ids = list(zip(*payload, strict=True)) if payload else [()] * found.num_rows
    pieces = zip(*(ticks(found[name]) for name in names), strict=True)
    assert sorted(zip(ids, pieces, strict=True), key=repr) == sorted(wanted, key=repr)


ON_INVALID, ON_EMPTY = ["error", "drop", "quarantine"], [None, "error", "drop", "point"]
ROWS = [(0, 4), (None, 5), (6, 2), (3, 3), (8, 9)]
TABLE = pa.table({"start": [start for start, _ in ROWS], "end": [end for _, end in ROWS], "id": range(len(ROWS))})
OTHERS = pa.table({"start": [0], "end": [20], "other": [7]})
VERBS = {
    "coalesce": lambda **options: tl.coalesce(TABLE, **options),
    "stab": lambda **options: tl.stab(TABLE, range(20), **options),
    "join": lambda **options: tl.join(TABLE, OTHERS, columns=["id"], **options),
    "temporal_join": lambda **options: tl.temporal_join(TABLE, OTHERS, columns=["id"], **options),
    "temporal_antijoin": lambda **options: tl.temporal_antijoin(TABLE, OTHERS.slice(1), columns=["id"], **options),
    "count_join": lambda **options: tl.count_join(TABLE, OTHERS, **options),
    "top_k": lambda **options: tl.top_k(TABLE, OTHERS, 9, **options),
}


def outcomes(rows, on_invalid, empty):
    """Which rows an option keeps, drops and quarantines, or None if it is an error."""
    try:
        kept, dropped, quarantined = admitted(rows, "left", on_invalid, empty)
    except Refused:
        return None
    return [at for at, _ in kept], dropped, quarantined


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("empty", ON_EMPTY)
@pytest.mark.parametrize("on_invalid", ON_INVALID)
def test_invalid_and_empty_rows_are_treated_each_as_its_option_says(verb, on_invalid, empty):
    wanted = outcomes(ROWS, on_invalid, empty)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if wanted is None:
            with pytest.raises(tl.InvalidInputError, match="have no usable period"):
                VERBS[verb](on_invalid=on_invalid, empty=empty)
            return
        answer = VERBS[verb](on_invalid=on_invalid, empty=empty)
    kept, dropped, quarantined = wanted
    result = answer.result if on_invalid == "quarantine" else answer
    assert sorted(result["id"].to_pylist()) == kept
    told = [str(warning.message) for warning in caught]
    assert [text.partition(" of the ")[0] for text in told] == (
        [f"dropped {len(dropped)} of 5 rows"] if dropped else []
    )
    if on_invalid == "quarantine":
        assert sorted(answer.rejected["id"].to_pylist()) == quarantined


LAST = 2**63 - 1


def test_a_point_at_the_last_tick_is_refused():
    rows = pa.table({"start": [LAST, 5], "end": [LAST, 5]})
    with pytest.raises(tl.InvalidInputError, match="1 of 2 rows .* last tick"):
        tl.coalesce(rows, empty="point")
    with pytest.warns(tl.DroppedRowsWarning, match="dropped 1 of 2 rows .* a point at the last tick"):
        assert tl.coalesce(rows, empty="point", on_invalid="drop").to_pylist() == [{"start": 5, "end": 6}]


@pytest.mark.parametrize(("kind", "low", "high"), [(pa.int8(), 0, 300), (pa.uint8(), -1, 9), (pa.date32(), 0, 2**40)])
def test_results_that_do_not_fit_their_type_say_which_column_and_value(kind, low, high):
    rows = pa.table({"start": column([1], kind), "end": column([4], kind)})
    window = (low, high)
    if kind == pa.date32():
        window = (np.datetime64(low, "D"), np.datetime64(high, "D"))
    shown = "'start'.*-1" if low < 0 else "'end'.*" + (str(window[1]) if kind == pa.date32() else "300")
    with pytest.raises(tl.InvalidInputError, match=f"column {shown}"):
        tl.gaps(rows, within=window)


def test_windows_between_the_units_of_a_column_are_written_exactly():
    rows = pa.table({"start": column([1], pa.timestamp("s")), "end": column([4], pa.timestamp("s"))})
    found = tl.gaps(rows, within=("1970-01-01 00:00:00.5", "1970-01-01 00:00:04"))
    assert (ticks(found["start"]), ticks(found["end"])) == ([500_000], [1_000_000])


@pytest.mark.parametrize("how", ["inner", "left", "full"])
@pytest.mark.parametrize("kind", INTEGERS)
def test_sides_without_rows_in_every_integer_type(kind, how):
    rows = pa.table({"start": column([1], kind), "end": column([4], kind)})
    period = tl.Period(closed="neither")
    assert tl.join(rows, rows.slice(1), how=how, overlap=True, period=period).num_rows == (how != "inner")
    assert tl.join(rows.slice(1), rows, how=how, overlap=True, period=period).num_rows == (how == "full")
