"""Names and key types on Spark: the answers of the local engine, and of Spark's own joins."""

import datetime as dt
from collections import Counter
from decimal import Decimal
from functools import reduce
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import timeloom as tl
from reference.relations import outer_pairs
from strange_names import NAMES, WRITTEN, rows_named, verbs
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.keys import aligned
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.tables.key_types import common_type
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy

TURNED = ["end", "start", "c0", "", "a.b", *(name for name in NAMES if name not in ("end", "start", "c0", "", "a.b"))]
"""The start is named ``end``, and the end ``start``."""


def rows(frame: Any) -> list[str]:
    """Rows without names, in any order."""
    found = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return sorted(map(repr, zip(*(column.to_pylist() for column in found.columns), strict=True)))


@pytest.mark.parametrize("verb", verbs(NAMES))
def test_no_name_clashes_with_an_inner_one(spark, verb):
    names = [name for name in TURNED if name not in WRITTEN.get(verb, set())]
    given = rows_named(names)
    frame = spark.createDataFrame(rows_named([f"x{at}" for at in range(len(names))])).toDF(*names)
    found, expected = verbs(names)[verb](frame, frame), verbs(names)[verb](given, given)
    assert found.result.columns == expected.result.column_names
    assert found.rejected.columns == expected.rejected.column_names
    assert rows(found.result) == rows(expected.result)
    if verb in ("join", "stab", "windows of rows"):
        assert rows(found.rejected) == rows(expected.rejected)


def test_pairs_that_sql_writes_out_have_any_name(spark, searched):
    names = ["end", "start", "run", "met", "flip", "entry", "v0", "c0", "A", "a", "a.b", "", "at", "own"]
    given = rows_named(names).slice(0, 3)
    frame = spark.createDataFrame(given.rename_columns([f"x{at}" for at in range(len(names))])).toDF(*names)
    period = {"left_period": names[:2], "right_period": names[:2], "suffixes": ("", "!")}
    for options in ({"columns": names[2:]}, {"columns": [*names[:8], "met!"], "strategy": "slices"}):
        found = tl.join(frame, frame, **period, **options)
        assert rows(found) == rows(tl.join(given, given, **period, columns=options["columns"]))
        assert found.columns == options["columns"]


KEYS = {
    "tinyint": [1, 0, None, 7],
    "int": [1, 0, None, 7],
    "bigint": [1, 2, None, 0, 7],
    "float": [1.0, 0.5, -0.0, None, float("nan"), 0.1],
    "double": [1.0, 0.5, 0.0, -0.0, None, float("nan"), 0.1, 7.0],
    "decimal(5,1)": [Decimal("1.0"), Decimal("0.5"), None, Decimal("0.1"), Decimal("7.0")],
    "decimal(12,4)": [Decimal("1.0000"), Decimal("0.5000"), Decimal("0.0000"), Decimal("0.1001")],
    "string": ["a", "A", None, "b"],
    "binary": [b"a", b"b", None],
    "date": [dt.date(2020, 1, 1), None],
    "timestamp": [dt.datetime(2020, 1, 1), None],
    "timestamp_ntz": [dt.datetime(2020, 1, 1), None],
    "boolean": [True, None, False],
    "interval day to second": [dt.timedelta(1), None],
    "void": [None],
}


def keyed(spark, kind: str, number: str):
    """Rows that all share their time, with keys of a type."""
    found = spark.createDataFrame([(key, at) for at, key in enumerate(KEYS[kind])], f"k {kind}, {number} int")
    return found.selectExpr("k", number, "0L AS start", "9L AS end")


@pytest.mark.parametrize("how", ["inner", "full", "semi", "anti"])
def test_keys_of_other_types_match_as_in_joins_of_spark(spark, how):
    pairs = [("tinyint", "bigint"), ("float", "double"), ("bigint", "double"), ("decimal(5,1)", "decimal(12,4)")]
    pairs += [("int", "decimal(12,4)"), ("decimal(5,1)", "double"), ("void", "string")]
    for one, other in pairs[:: 1 if how == "full" else 3]:
        left, right = keyed(spark, one, "v"), keyed(spark, other, "w")
        found = tl.join(left, right, on="k", how=how, strategy="keys")
        same = F.col("left.k") == F.col("right.k")
        kinds = {"semi": "left_semi", "anti": "left_anti"}
        expected = left.alias("left").join(right.alias("right"), same, kinds.get(how, how))
        key = "k" if how in kinds else "coalesce(left.k, right.k)"
        columns = ["v"] if how in kinds else ["v", "w"]
        assert rows(found.selectExpr("k + 0D AS k" if "v" in other else "k", *columns)) == rows(
            expected.selectExpr(f"{key} AS k", *columns).selectExpr("k + 0D AS k" if "v" in other else "k", *columns)
        ), (one, other)
        if how in kinds:
            assert found.schema["k"].dataType == left.schema["k"].dataType


def test_every_pair_of_key_types_matches_locally_as_in_joins_of_spark(spark):
    """All pairs in one job: rows of all types beside each other, and for each pair whether Spark finds them equal."""
    most = max(map(len, KEYS.values()))
    wide = [[at, *(keys[at] if at < len(keys) else None for keys in KEYS.values())] for at in range(most)]
    left, right = (
        spark.createDataFrame(wide, f"{name} int, " + ", ".join(f"`{name} {kind}` {kind}" for kind in KEYS))
        for name in "vw"
    )
    columns = left.drop("v").toArrow().columns
    tables = {kind: keyed_table(keys, len(KEYS[kind])) for kind, keys in zip(KEYS, columns, strict=True)}
    pairs = [
        (one, other) for one in KEYS for other in KEYS if common_type(*(tables[k]["k"].type for k in (one, other)))
    ]
    assert len(pairs) > 80
    equal = [F.col(f"`v {one}`") == F.col(f"`w {other}`") for one, other in pairs]
    compared = left.coalesce(1).crossJoin(right.coalesce(1)).select("v", "w", F.array(*equal)).collect()
    for number, (one, other) in enumerate(pairs):
        found = tl.join(tables[one], tables[other], on="k")
        expected = [(v, w) for v, w, same in compared if same[number]]
        assert sorted(zip(*found.select(["row", "row_right"]).to_pydict().values(), strict=True)) == sorted(expected)


def test_full_joins_of_pairs_of_key_types_are_those_of_spark(spark):
    """Two jobs for all: one has the results of all joins, the other which keys Spark finds equal.

    Most of the time goes into plans, so that the suite takes one of six pairs.
    """
    pairs = other_pairs(spark)
    assert len(pairs) > 30
    pairs = pairs[::6]
    sides = {kind: (keyed(spark, kind, "v"), keyed(spark, kind, "w")) for kind in KEYS}
    plans = []
    for number, (one, other) in enumerate(pairs):
        left = sides[one][0].selectExpr("*", "k AS own")
        right = sides[other][1].selectExpr("*", "k AS own")
        found = tl.join(left, right, on="k", how="full", columns=["k", "v", "w", "own", "own_right"])
        plans.append(found.selectExpr(f"{number} AS pair", "v", "w", "k <=> coalesce(own, own_right) AS same_key"))
    joined = reduce(lambda some, more: some.unionAll(more), plans).collect()
    assert all(row["same_key"] for row in joined), {pairs[row["pair"]] for row in joined if not row["same_key"]}
    equal = equal_keys(spark, pairs)
    for number, (one, other) in enumerate(pairs):
        found = Counter((row["v"], row["w"]) for row in joined if row["pair"] == number)
        expected = outer_pairs(equal[number], len(KEYS[one]), len(KEYS[other]), "full")
        assert found == Counter(expected), (one, other)


def other_pairs(spark) -> list[tuple[str, str]]:
    """The pairs of different key types that may be equal, each in one order."""
    kinds = {kind: arrow_schema(keyed(spark, kind, "v").schema, "left").field("k").type for kind in KEYS}
    return [(one, other) for one, other in combinations(KEYS, 2) if common_type(kinds[one], kinds[other])]


def equal_keys(spark, pairs: list[tuple[str, str]]) -> list[list[tuple[int, int]]]:
    """For each pair of types, the rows whose keys Spark finds equal."""
    most = max(map(len, KEYS.values()))
    wide = [[at, *(keys[at] if at < len(keys) else None for keys in KEYS.values())] for at in range(most)]
    left, right = (
        spark.createDataFrame(wide, f"{name} int, " + ", ".join(f"`{name} {kind}` {kind}" for kind in KEYS))
        for name in "vw"
    )
    equal = [F.col(f"`v {one}`") == F.col(f"`w {other}`") for one, other in pairs]
    compared = left.coalesce(1).crossJoin(right.coalesce(1)).select("v", "w", F.array(*equal)).collect()
    return [[(v, w) for v, w, same in compared if same[number]] for number in range(len(pairs))]


def keyed_table(keys: pa.ChunkedArray, count: int) -> pa.Table:
    """Rows that all share their time, with the first keys of a column."""
    return pa.table({"k": keys.slice(0, count), "row": range(count), "start": [0] * count, "end": [9] * count})


def test_every_pair_of_key_types_has_a_common_type_or_is_refused_by_name(spark):
    sides = {kind: judge_frame(keyed(spark, kind, "v"), Period(), "left", Policy()) for kind in KEYS}
    arrow = {kind: arrow_schema(side.schema, "left").field("k").type for kind, side in sides.items()}
    for one, left in sides.items():
        for other, right in sides.items():
            common = common_type(arrow[one], arrow[other])
            if common is None:
                with pytest.raises(tl.InvalidInputError, match="the keys 'k' .* and 'k' .* cannot be equal; cast one"):
                    aligned(left, right, Keys.of("k"))
                continue
            for side in aligned(left, right, Keys.of("k")):
                assert arrow_schema(side.schema, "left").field("k").type == common, (one, other)
                assert side.all_rows.schema["c0"].dataType == side.schema["k"].dataType


def test_keys_that_cannot_be_compared_are_refused_by_name(spark):
    one = spark.sql("select 0L as start, 9L as end, array(1) as list, map(1, 2) as map, parse_json('1') as variant")
    more = ["'a' collate UTF8_LCASE as text", "interval 1 month as months", "named_struct('a', 1) as s"]
    one = one.selectExpr("*", *more)
    for name in ("list", "map", "variant", "text", "months", "s"):
        match = f"column '{name}' .*is "
        for call in (tl.join, tl.temporal_join, tl.temporal_antijoin, tl.count_join):
            with pytest.raises(tl.InvalidInputError, match=match):
                call(one, one, on=name)
        for call in (tl.coalesce, tl.gaps, tl.depth):
            with pytest.raises(tl.InvalidInputError, match=match):
                call(one, by=name)
        kept = one.select("start", "end", name)
        with pytest.raises(tl.InvalidInputError, match=match):
            tl.top_k(kept, kept, 1, by=name)
    for call in (lambda: tl.stab(one, range(99)), lambda: tl.join(one, one, how="left"), lambda: tl.top_k(one, one, 1)):
        with pytest.raises(tl.InvalidInputError, match="column 'months' .* cannot send to Python; cast it"):
            call()
    assert tl.stab(one, 1).count() == 1, "which Spark tests itself"


def test_zeros_and_not_a_number_are_one_key_each(spark):
    keys = [0.0, -0.0, float("nan"), 1.0, None]
    given = pa.table({"k": keys * 3, "start": [at % 4 for at in range(15)], "end": [at % 4 + 3 for at in range(15)]})
    frame = spark.createDataFrame(given.to_pylist(), "k double, start bigint, end bigint").repartition(4)
    for strategy in ("keys", "slices", "broadcast"):
        found = tl.join(frame, frame, "overlaps", on="k", how="left", strategy=strategy)
        expected = tl.join(_zero(given), _zero(given), "overlaps", on="k", how="left")
        assert rows(found.selectExpr("k + 0D", "start", "end")) == rows(expected.select([0, 1, 2]))
    for call in (
        lambda one: tl.coalesce(one, by="k"),
        lambda one: tl.gaps(one, by="k", within=(0, 9)),
        lambda one: tl.depth(one, by="k"),
        lambda one: tl.temporal_antijoin(one, one, on="k"),
        lambda one: tl.top_k(one, one, 1, by="k", ties="all"),
    ):
        found = call(frame)
        others = [f"`{name}`" for name in found.columns if name != "k"]
        assert rows(found.selectExpr("k + 0D", *others)) == rows(call(_zero(given)).select(["k", *found.columns[1:]]))


def _zero(given: pa.Table) -> pa.Table:
    """The same with one zero."""
    return given.set_column(0, "k", pa.array([None if key is None else key + 0.0 for key in given["k"].to_pylist()]))


def test_rows_of_the_left_table_keep_the_type_of_their_key(spark):
    """What returns left rows only has no reason to give keys the common type of both sides."""
    left = pa.table({"start": [1, 3], "end": [4, 6], "k": pa.array([1, 2], pa.int32())})
    for kind, keys in ((pa.decimal128(9, 2), [Decimal(1), Decimal("2.5")]), (pa.float64(), [1.0, 2.5])):
        right = pa.table({"start": [2, 4], "end": [5, 7], "k": pa.array(keys, kind), "x": [7, 7]})
        frames = [spark.createDataFrame(given) for given in (left, right)]
        for call in (
            lambda one, other: tl.temporal_join(one, other, how="semi", on="k"),
            lambda one, other: tl.temporal_join(one, other, how="semi", on="k", where="x = 7"),
            lambda one, other: tl.temporal_antijoin(one, other, on="k"),
            lambda one, other: tl.temporal_antijoin(one, other, on="k", where="x = 7"),
            lambda one, other: tl.join(one, other, how="semi", on="k", where="x = 7"),
            lambda one, other: tl.join(one, other, how="anti", on="k"),
            lambda one, other: tl.count_join(one, other, on="k"),
        ):
            found, expected = call(*frames).toArrow(), call(left, right)
            assert rows(found) == rows(expected)
            assert found.schema.field("k").type == expected.schema.field("k").type == pa.int32()
