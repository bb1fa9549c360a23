"""Every relation, kind of join, key and algorithm against brute force."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import LIMITS, keys_for, periods, ranges
from reference.relations import PARAMETERS, RELATIONS, anti_rows, join_pairs, outer_pairs, semi_rows
from rows import table
from timeloom.model.box import Box

ALGORITHMS = ["auto", "forward_scan", "sweep", "range_tree"]
HOWS = ["inner", "left", "right", "full", "semi", "anti"]


def expected(pairs, left, right, how):
    if how == "semi":
        return [(i,) for i in semi_rows(pairs)]
    if how == "anti":
        return [(i,) for i in anti_rows(pairs, len(left))]
    return sorted(outer_pairs(pairs, len(left), len(right), how), key=str)


def found(result, how):
    names = ["i"] if how in ("semi", "anti") else ["i", "j"]
    rows = list(zip(*(result[name].to_pylist() for name in names), strict=True))
    return rows if how in ("semi", "anti") else sorted(rows, key=str)


@pytest.mark.parametrize("name", RELATIONS)
@settings(max_examples=40)
@given(data=st.data())
def test_every_relation_in_every_way(name, data):
    left, right = data.draw(periods()), data.draw(periods())
    options = {limit: data.draw(LIMITS) for limit in PARAMETERS.get(name, ())}
    how = data.draw(st.sampled_from(HOWS))
    algorithm = data.draw(st.sampled_from(ALGORITHMS))
    keyed = data.draw(st.booleans())
    left_keys = data.draw(keys_for(left)) if keyed else None
    right_keys = data.draw(keys_for(right)) if keyed else None
    result = tl.join(
        table(left, left_keys, "i"),
        table(right, right_keys, "j"),
        name,
        how=how,
        on="key" if keyed else None,
        algorithm=algorithm,
        **options,
    )
    pairs = join_pairs(left, right, RELATIONS[name], left_keys=left_keys, right_keys=right_keys, **options)
    assert found(result, how) == expected(pairs, left, right, how)


@settings(max_examples=150)
@given(
    left=periods(),
    right=periods(),
    boxes=st.lists(st.builds(Box, ranges(), ranges(), ranges(), ranges()), min_size=1, max_size=3),
    algorithm=st.sampled_from(ALGORITHMS),
    how=st.sampled_from(HOWS),
)
def test_custom_relations_and_unions(left, right, boxes, algorithm, how):
    relation = tl.Relation.of(boxes)
    result = tl.join(table(left, number="i"), table(right, number="j"), relation, how=how, algorithm=algorithm)
    pairs = join_pairs(left, right, lambda r, s, *_: relation.holds(r, s))
    assert found(result, how) == expected(pairs, left, right, how)


@settings(max_examples=60)
@given(left=periods(), right=periods(), how=st.sampled_from(HOWS), rows=st.integers(1, 5))
def test_batches_hold_the_same_rows_and_never_more_than_asked(left, right, how, rows):
    tables = table(left, number="i"), table(right, number="j")
    whole = tl.join(*tables, "overlaps", how=how)
    parts = list(tl.join(*tables, "overlaps", how=how, batches=True, batch_rows=rows))
    assert all(part.num_rows <= rows for part in parts)
    together = pa.Table.from_batches(parts, whole.schema) if parts else whole.slice(0, 0)
    assert found(together, how) == found(whole, how)


@settings(max_examples=60)
@given(left=periods(), right=periods(), columns=st.permutations(["i", "j", "overlap_start", "overlap_end"]))
def test_overlap_is_the_time_that_both_share(left, right, columns):
    result = tl.join(
        table(left, number="i"), table(right, number="j"), "intersects | before", overlap=True, columns=columns
    )
    assert result.column_names == columns
    for row in result.to_pylist():
        r, s = left[row["i"]], right[row["j"]]
        shared = (max(r[0], s[0]), min(r[1], s[1]))
        assert (row["overlap_start"], row["overlap_end"]) == (shared if shared[0] < shared[1] else (None, None))


@settings(max_examples=60)
@given(left=periods(), right=periods(), data=st.data())
def test_several_keys_of_several_types(left, right, data):
    numbers = [
        data.draw(st.lists(st.sampled_from([1, 2, None]), min_size=len(side), max_size=len(side)))
        for side in (left, right)
    ]
    texts = [data.draw(keys_for(side)) for side in (left, right)]
    a = table(left, texts[0], "i").append_column("n", pa.array(numbers[0], pa.int16()))
    b = table(right, texts[1], "j").append_column("m", pa.array(numbers[1], pa.int64()))
    result = tl.join(a, b, left_on=["n", "key"], right_on=["m", "key"], how="full")
    keys = [list(zip(n, t, strict=True)) for n, t in zip(numbers, texts, strict=True)]
    pairs = join_pairs(left, right, RELATIONS["intersects"], left_keys=keys[0], right_keys=keys[1])
    assert found(result, "full") == expected(pairs, left, right, "full")
    assert result.column_names == ["start", "end", "key", "i", "n", "start_right", "end_right", "j"]
    for row in result.to_pylist():
        wanted = keys[0][row["i"]] if row["i"] is not None else keys[1][row["j"]]
        assert (row["n"], row["key"]) == wanted
