"""No name of a column clashes with one that is used inside: results are those of tables with harmless names."""

import pandas as pd
import pyarrow as pa
import pytest

import timeloom as tl
from strange_names import NAMES, WRITTEN, local_verbs, numbered, rows_named, verbs


def columns(found: pa.Table) -> list[list[object]]:
    """Columns without their names; reasons tell the name of a column."""
    return [
        [str(value).endswith(" is null") for value in column.to_pylist()] if _tells(column) else column.to_pylist()
        for column in found.columns
    ]


def _tells(column: pa.ChunkedArray) -> bool:
    return any(str(value).endswith(" is null") for value in column.to_pylist())


def every_verb(names):
    return verbs(names) | local_verbs(names)


@pytest.mark.parametrize("verb", every_verb(NAMES))
@pytest.mark.parametrize("turn", range(0, len(NAMES), 7))
def test_any_name_may_stand_for_the_period_the_key_and_the_payload(verb, turn):
    names = [name for name in NAMES[turn:] + NAMES[:turn] if name not in WRITTEN.get(verb, set())]
    given, plain = rows_named(names), rows_named(numbered(names))
    found = every_verb(names)[verb](given, given)
    expected = every_verb(numbered(names))[verb](plain, plain)
    assert columns(found.result) == columns(expected.result)
    assert columns(found.rejected) == columns(expected.rejected)
    known = dict(zip(numbered(names), names, strict=True))
    suffix = " of the other"
    for one, other in ((name, name.removesuffix(suffix)) for name in expected.result.column_names):
        assert known.get(other, other) + one[len(other) :] in found.result.column_names
    assert found.rejected.num_rows == (2 if "side" in expected.rejected.column_names else 1)


def test_rejected_rows_keep_columns_of_equal_name_and_other_type_apart():
    left = pa.table({"start": [None], "end": [1], "reason": [1], "side": [1], "k": [1], "k_right": [1]}, _schema("k"))
    right = pa.table({"start": [None], "end": [1], "k": ["x"], "k_right": [2.5]}, _schema())
    rejected = tl.join(left, right, how="semi", on_invalid="quarantine").rejected
    assert rejected.column_names[0] == "side_"
    assert rejected.to_pylist()[1] | {"start": 0} == {
        "side_": "right",
        "start": 0,
        "end": 1,
        "reason": None,
        "side": None,
        "k": None,
        "k_right": None,
        "reason_": "start is null",
        "k_right_": "x",
        "k_right_right": 2.5,
    }


def _schema(*more: str) -> pa.Schema:
    kinds = {"start": pa.int64(), "end": pa.int64()}
    if more:
        return pa.schema(kinds | dict.fromkeys(("reason", "side", "k", "k_right"), pa.int64()))
    return pa.schema(kinds | {"k": pa.string(), "k_right": pa.float64()})


@pytest.mark.parametrize("verb", every_verb(NAMES))
def test_names_that_stand_for_two_columns_are_refused(verb):
    names = ["from", "to", "key", "v", "w"]
    plain = rows_named(names)
    arrow = plain.append_column("v", plain["w"])
    pandas = pd.DataFrame([[0, 5, "a", 1, 2, 3]], columns=[*names, "v"])
    for bad in (arrow, pandas):
        good = plain if bad is arrow else plain.to_pandas()
        for side, sides in (("left|input", (bad, good)), ("right", (good, bad))):
            if side == "right" and verb not in ("join", "anti", "count_join", "top_k", *_SEQUENCED):
                continue
            with pytest.raises(tl.InvalidInputError, match=f"the ({side}) table has more than one column named 'v'"):
                every_verb(names)[verb](*sides)


_SEQUENCED = ("temporal_join", "temporal_antijoin")


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_rows_of_no_columns_are_still_counted(how):
    rows = pa.table({"key": ["a", "a", "b"], "start": [1, 4, 20], "end": [5, 9, 30]})
    others = pa.table({"key": ["a", "c"], "start": [3, 40], "end": [6, 50]})
    forests = tl.StabForest.build(others), tl.StabForest.build(others, payload=others)
    for right in (others, *forests):
        assert tl.join(rows, right, how=how, columns=[]).num_rows == tl.join(rows, right, how=how).num_rows
    found = tl.join(rows, others, how=how, columns=[], batches=True, batch_rows=1)
    assert sum(batch.num_rows for batch in found) == tl.join(rows, others, how=how).num_rows
    if how in ("inner", "left"):
        keyed = tl.KeyedForest.build(others, by="key")
        kept = [tl.join(rows, keyed, on="key", how=how, columns=columns).num_rows for columns in ([], None)]
        assert kept[0] == kept[1] > 0
