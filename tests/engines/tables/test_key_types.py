"""Keys of every pair of types: equal values match in whatever form, and results have the common type."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from key_values import KEYS, equal, may_be_equal, value
from timeloom.engines.tables.key_types import common_type

PAIRS = list(itertools.product(KEYS, KEYS))


def keyed(key: pa.Array, number: str) -> pa.Table:
    """Rows that all share their time."""
    size = len(key)
    return pa.table({"k": key, "start": [0] * size, "end": [9] * size, number: range(size)})


def told(found: pa.Table, *numbers: str) -> list[tuple]:
    """Result rows, with keys as Python compares them."""
    keys = [value(scalar) for chunk in found["k"].chunks for scalar in chunk]
    return sorted(zip(*(found[name].to_pylist() for name in numbers), keys, strict=True), key=repr)


def expected(left: pa.Array, right: pa.Array) -> tuple[list[tuple], list[tuple], list[tuple]]:
    """Pairs, and rows without partners, by Python's own comparison."""
    ours, theirs = [value(scalar) for scalar in left], [value(scalar) for scalar in right]
    pairs = [(v, w, ours[v]) for v in range(len(ours)) for w in range(len(theirs)) if equal(ours[v], theirs[w])]
    first = [(v, None, one) for v, one in enumerate(ours) if not any(equal(one, other) for other in theirs)]
    second = [(None, w, other) for w, other in enumerate(theirs) if not any(equal(one, other) for one in ours)]
    return pairs, first, second


def same(found: list[tuple], wanted: list[tuple]) -> bool:
    """Compare result rows; a key may be written in another type."""
    wanted = sorted(wanted, key=lambda row: repr(row[:-1]))
    found = sorted(found, key=lambda row: repr(row[:-1]))
    return len(found) == len(wanted) and all(
        one[:-1] == other[:-1] and (equal(one[-1], other[-1]) or one[-1] is other[-1] is None)
        for one, other in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("one", KEYS)
def test_equal_values_match_whatever_their_types(one):
    for other in KEYS:
        left, right = keyed(KEYS[one], "v"), keyed(KEYS[other], "w")
        if not may_be_equal(one, other):
            for call in (tl.join, tl.temporal_join, tl.temporal_antijoin, tl.count_join):
                with pytest.raises(tl.InvalidInputError, match=r"the keys 'k' \(.*\) and 'k' \(.*\) cannot be equal"):
                    call(left, right, on="k")
            continue
        pairs, first, second = expected(KEYS[one], KEYS[other])
        kind = common_type(KEYS[one].type, KEYS[other].type)
        for verb, more in ((tl.join, {}), (tl.temporal_join, {})):
            for how, rows in (("inner", []), ("left", first), ("right", second), ("full", first + second)):
                found = verb(left, right, on="k", how=how, **more)
                assert found["k"].type == kind, (one, other, how)
                assert same(told(found, "v", "w"), pairs + rows), (one, other, how)
        lone = {v for v, _, _ in first}
        for found, wanted in (
            (tl.join(left, right, on="k", how="anti"), lone),
            (tl.temporal_antijoin(left, right, on="k"), lone),
            (tl.join(left, right, on="k", how="semi"), set(range(left.num_rows)) - lone),
        ):
            assert set(found["v"].to_pylist()) == wanted, (one, other)
            assert found.schema.field("k") == left.schema.field("k")
        counts = tl.count_join(left, right, on="k")
        assert counts["count"].to_pylist() == [sum(v == row for v, _, _ in pairs) for row in range(left.num_rows)]


def test_values_that_the_common_type_cannot_hold_are_refused():
    big = {"int64 with float64": (pa.array([2**53 + 1]), pa.array([1.0]))}
    big["uint64 with int64"] = (pa.array([2**63], pa.uint64()), pa.array([-1], pa.int64()))
    big["seconds with nanoseconds"] = (pa.array([2**40], pa.timestamp("s")), pa.array([1], pa.timestamp("ns")))
    for one, other in big.values():
        for how in ("inner", "full", "semi"):
            for left, right in ((one, other), (other, one)):
                with pytest.raises(tl.InvalidInputError, match="the key 'k' is .*, and not all of its values fit into"):
                    tl.join(keyed(left, "v"), keyed(right, "w"), on="k", how=how)


def test_zeros_are_one_key_and_not_a_number_is_one_key_in_every_grouping():
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    keys = np.array([0.0, -0.0, np.nan, -np.nan, other_nan, 1.0])
    for kind in (pa.float64(), pa.float32(), pa.float16()):
        rows = pa.table({"k": pa.array(keys).cast(kind, safe=False), "start": [0] * 6, "end": [3] * 6})
        assert tl.coalesce(rows).num_rows == 3
        assert tl.gaps(rows, by="k", within=(0, 4)).num_rows == 3
        assert tl.depth(rows, by="k", name="n")["n"].to_pylist() == [2, 3, 1]
        found = tl.temporal_aggregate(rows, {"n": ("k", "count_distinct")})
        assert found["n"].to_pylist() == [3]
        assert tl.top_k(rows, rows, 1, by="k").num_rows == 3
        assert tl.join(rows, rows, on="k").num_rows == 4 + 9 + 1
        assert tl.join(rows, rows, on="k", how="anti").num_rows == 0


def test_dictionaries_that_do_not_fit_together_get_wider_indices():
    kind = pa.dictionary(pa.int8(), pa.string())
    left, right = (pa.array([f"{side}{at}" for at in range(100)]).cast(kind) for side in "ab")
    for how in ("inner", "full"):
        found = tl.join(keyed(left, "v"), keyed(right, "w"), on="k", how=how)
        assert found["k"].type == pa.dictionary(pa.int32(), pa.string())
    assert sorted(found["k"].to_pylist()) == sorted(left.to_pylist() + right.to_pylist())


def test_keys_of_the_common_type_come_back_in_the_kind_of_the_left_table():
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    left, right = keyed(pa.array([1, 2], pa.int8()), "v"), keyed(pa.array([2.0, 3.5]), "w")
    for make, rows in (
        (pl.from_arrow, lambda found: found.to_dicts()),
        (lambda given: given.to_pandas(), lambda found: found.astype(object).to_dict("records")),
        (duckdb.from_arrow, lambda found: found.to_arrow_table().to_pylist()),
    ):
        for verb in (tl.join, tl.temporal_join):
            found = rows(verb(make(left), make(right), on="k", how="full"))
            assert sorted(row["k"] for row in found) == [1.0, 2.0, 3.5]
            assert all(isinstance(row["k"], float) for row in found)
    texts = keyed(pa.array(["a", "b"]), "v"), keyed(pa.array(["b", "c"]).dictionary_encode(), "w")
    found = tl.join(texts[0].to_pandas(), texts[1].to_pandas(), on="k", how="full")
    assert sorted(found["k"]) == ["a", "b", "c"]
