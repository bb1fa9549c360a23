"""Columns of every Arrow type, as payload, key, group and value of every verb: they work, or are refused by name."""

from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import timeloom as tl
from key_values import KEYS

D = Decimal("1.5")
VIEWS = pa.array(["a", None, "a text that is too long for a view"], pa.string_view())
ONLY_PAYLOAD: dict[str, pa.Array] = {
    "list": pa.array([[1], None, [2, 3]]),
    "large list": pa.array([[1], None, [2, 3]], pa.large_list(pa.int64())),
    "fixed list": pa.array([[1, 2], None, [2, 3]], pa.list_(pa.int64(), 2)),
    "list view": pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())),
    "large list view": pa.array([[1], None, [2, 3]], pa.large_list_view(pa.int64())),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}]),
    "map": pa.array([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "struct of views": pa.StructArray.from_arrays([VIEWS], ["v"]),
    "list of views": pa.array([["a"], None, ["b", "c"]], pa.list_(pa.string_view())),
    "dense union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a"])]
    ),
    "sparse union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    ),
    "json": pa.array(["1", None, "2"], pa.json_()),
    "opaque": pa.ExtensionArray.from_storage(pa.opaque(pa.int32(), "x", "y"), pa.array([1, None, 2], pa.int32())),
    "tensor": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), [2]), pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2))
    ),
}
MORE_KEYS: dict[str, pa.Array] = {
    "decimal32": pa.array([D, None, D], pa.decimal32(5, 2)),
    "decimal64": pa.array([D, None, D], pa.decimal64(15, 2)),
    "dictionary of views": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), VIEWS),
    "runs of numbers": pc.run_end_encode(pa.array([1, 1, None])),
}
COLUMNS = {name: column.slice(0, 3) for name, column in (KEYS | MORE_KEYS | ONLY_PAYLOAD).items() if len(column) > 2}

WINDOWS = {"sys": tl.Slide(0, 3, 1), "app": tl.Slide(0, 3, 1), "steps": 2}
BOTH = {"sys_period": ("start", "end"), "app_period": ("start", "end")}
CARRYING = {
    "join": lambda one: tl.join(one, one, how="full", suffixes=("", "_right")),
    "inner": lambda one: tl.join(one, one, columns=["x", "x_right"]),
    "batches": lambda one: pa.Table.from_batches(tl.join(one, one, "before", how="full", batches=True)),
    "semi": lambda one: tl.join(one, one, how="semi"),
    "temporal_join": lambda one: tl.temporal_join(one, one, how="full"),
    "temporal_antijoin": lambda one: tl.temporal_antijoin(one, one.slice(0, 1)),
    "count_join": lambda one: tl.count_join(one, one),
    "top_k": lambda one: tl.top_k(one, one, 2),
    "stab": lambda one: tl.stab(one, 1),
    "nearest": lambda one: tl.nearest(one, one, 2),
    "as_of": lambda one: tl.as_of(one, one, at="start"),
    "split": lambda one: tl.split(one, every=1),
    "lanes": tl.lanes,
    "conditions": lambda one: tl.join(one, one, where="start < start_right", how="full"),
    "windows": lambda one: tl.sliding_windows(one, rows=True, **WINDOWS, **BOTH),
    "changes": lambda one: tl.sliding_windows(one, deltas=True, **WINDOWS, **BOTH),
    "first": lambda one: tl.temporal_aggregate(one, {"x": ("x", "first")}),
    "collect": lambda one: tl.temporal_aggregate(one, {"x list": ("x", "collect")}),
    "rejected": lambda one: tl.stab(_invalid(one), 1, on_invalid="quarantine").rejected,
}
COMPARING = {
    "join": lambda one: tl.join(one, one, on="x", how="full"),
    "semi": lambda one: tl.join(one, one, on="x", how="semi"),
    "temporal_join": lambda one: tl.temporal_join(one, one, on="x", how="full"),
    "temporal_antijoin": lambda one: tl.temporal_antijoin(one, one, on="x"),
    "count_join": lambda one: tl.count_join(one, one, on="x"),
    "top_k": lambda one: tl.top_k(one, one, 2, on="x"),
    "top_k by": lambda one: tl.top_k(one, one, 2, by="x"),
    "coalesce": tl.coalesce,
    "sessions": lambda one: tl.coalesce(one, max_gap=1),
    "lanes": lambda one: tl.lanes(one, by="x"),
    "check": lambda one: tl.check(one, by="x", gaps=True, duplicates=True, within=(-1, 30)),
    "nearest": lambda one: tl.nearest(one, one, on="x"),
    "as_of": lambda one: tl.as_of(one, one, at="start", on="x"),
    "temporal_union": lambda one: tl.temporal_union(one, one),
    "temporal_intersect": lambda one: tl.temporal_intersect(one, one),
    "temporal_except": lambda one: tl.temporal_except(one, one.slice(1)),
    "buckets": lambda one: tl.temporal_aggregate(one, {"n": "count"}, by="x", every=3),
    "gaps": lambda one: tl.gaps(one, by="x", within=(-1, 30)),
    "depth": lambda one: tl.depth(one, by="x"),
    "temporal_aggregate": lambda one: tl.temporal_aggregate(one, {"n": "count"}, by="x"),
}
MEASURES = ["count", "sum", "avg", "min", "max", "stddev", "first", "last", "count_distinct", "collect", len]
FORMS = {
    "whole": lambda column: column,
    "in chunks": lambda column: pa.chunked_array([column.slice(0, 1), column.slice(1, 0), column.slice(1)]),
    "a slice": lambda column: pa.concat_arrays([column, column]).slice(2, 3),
    "without rows": lambda column: column.slice(0, 0),
    "without chunks": lambda column: pa.chunked_array([], column.type),
}


def beside_periods(column: "pa.Array | pa.ChunkedArray") -> pa.Table:
    """A column and periods, with metadata that must not get in the way."""
    rows = range(len(column))
    ends = pa.array([row + 2 for row in rows], pa.int64())
    return pa.table({"x": column, "start": pa.array(rows, pa.int64()), "end": ends}).replace_schema_metadata({"a": "b"})


def _invalid(one: pa.Table) -> pa.Table:
    return one.set_column(1, "start", pa.array([None] * one.num_rows, pa.int64()))


@pytest.mark.parametrize("name", COLUMNS)
def test_payload_of_every_type_passes_through_every_verb(name):
    kind = COLUMNS[name].type
    for form, make in FORMS.items():
        given = beside_periods(make(COLUMNS[name]))
        values = given["x"].to_pylist()
        for verb, call in CARRYING.items():
            if not given.num_rows and verb == "batches":
                continue
            found = call(given)
            found.validate(full=True)
            for column in {"x", "x_right"} & set(found.column_names):
                if verb != "first":
                    assert found[column].type == kind, (verb, form)
                assert all(value is None or value in values for value in found[column].to_pylist()), (verb, form)
            assert len(found) or not len(given), (verb, form)
        assert tl.stab(given, 1)["x"].to_pylist() == values[:2]


def test_payload_that_arrow_cannot_take_apart_is_refused_by_name():
    views = pa.map_(pa.string_view(), pa.string_view())
    for kind, values in ((views, [[("a", "b")], None]), (pa.list_view(pa.string_view()), [["a"], None])):
        for verb in ("join", "temporal_join", "stab", "rejected", "windows"):
            with pytest.raises(
                tl.InvalidInputError, match="column 'x' is .*, which cannot be carried over.*cast it to"
            ):
                CARRYING[verb](beside_periods(pa.array(values, kind)))


@pytest.mark.parametrize("name", COLUMNS)
def test_keys_and_groups_of_every_type_work_or_are_refused_by_name(name):
    for form, make in FORMS.items():
        given = beside_periods(make(COLUMNS[name]))
        for verb, call in COMPARING.items():
            if name in ONLY_PAYLOAD:
                with pytest.raises(tl.InvalidInputError, match="column 'x' is .*, whose values cannot be compared"):
                    call(given)
            else:
                found = call(given)
                assert found["x"].type == given["x"].type, (verb, form)
                assert found.num_rows or not given.num_rows or verb == "temporal_antijoin"


@pytest.mark.parametrize("name", COLUMNS)
def test_values_of_every_type_are_measured_or_refused_by_name(name):
    refused = []
    for make in FORMS.values():
        given = beside_periods(make(COLUMNS[name]))
        for function in MEASURES:
            for call in (
                partial(tl.temporal_aggregate, given),
                partial(tl.sliding_windows, given, **WINDOWS, **BOTH),
                *([partial(tl.count_join, given, given)] if function in ("count", "sum", "avg", "min", "max") else []),
            ):
                option = {"aggregates": {"m": ("x", function)}}
                if call.func is tl.sliding_windows:
                    option = {"select": option["aggregates"]}
                try:
                    assert "m" in call(**option).column_names
                except tl.TimeloomError as error:
                    refused.append(str(error))
    assert all("'x'" in told and "'m'" in told for told in refused)
