"""Whatever is given to a public call, it works or raises an error of ours; the calls come from the signatures."""

import inspect
import warnings
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.operators.registry import verbs
from timeloom.streaming import (
    EndpointCount,
    EndpointJoin,
    LiveForest,
    StreamAggregate,
    StreamCoalesce,
    StreamCount,
    StreamJoin,
    StreamPattern,
)
from timeloom.streaming.intake import Events

ROWS = pa.table({"key": ["a", "b"], "value": [1, 2], "start": [1, 2], "end": [3, 9]})
FOREST = tl.StabForest.build([1, 2], [5, 6])
HISTORY = pa.table({"fee": [5, 7], "sys_start": [1, 2], "sys_end": [4, None], "app_start": [1, 2], "app_end": [9, 9]})
SLIDE = tl.Slide(1, 2, 1)

DAYS = ROWS.set_column(2, "start", pa.array([1, 2], pa.date32())).set_column(3, "end", pa.array([3, 9], pa.date32()))
ZONED = pa.table(
    {"start": pa.array([1, 2], pa.timestamp("us", "UTC")), "end": pa.array([3, 9], pa.timestamp("us", "UTC"))}
)


class Hostile:
    """An object that is of no use to anyone."""

    def __repr__(self):
        raise RuntimeError("no text")


def odd_values():
    """Values of every kind, made anew for each call: generators can be used only once."""
    return {
        "none": None,
        "zero": 0,
        "minus one": -1,
        "huge": 10**30,
        "very huge": 10**400,
        "int64 max": 2**63 - 1,
        "half": 1.5,
        "nan": float("nan"),
        "true": True,
        "empty text": "",
        "text": "nonsense",
        "surrogate": "\ud800",
        "surrogate in a pair": ("\ud800", "end"),
        "nul": "a\0b",
        "bytes": b"x",
        "empty list": [],
        "list of ints": [1, 2],
        "list of none": [None, None],
        "nested": [["a"], ["b"]],
        "empty tuple": (),
        "three": (1, 2, 3),
        "reversed": (9, 1),
        "dict": {"a": 1},
        "empty dict": {},
        "dict of none": {None: None},
        "odd aggregates": {"x": (1, 2)},
        "set": {"a"},
        "object": object(),
        "hostile": Hostile(),
        "generator": (n for n in [1, 2]),
        "numpy int": np.int64(3),
        "numpy bool": np.bool_(True),
        "numpy float": np.float64(2.5),
        "numpy instant": np.datetime64("2024-01-01"),
        "numpy no instant": np.datetime64("NaT"),
        "numpy span": np.timedelta64(3, "D"),
        "numpy array": np.array([1.5, 2.5]),
        "numpy matrix": np.zeros((2, 2)),
        "decimal": Decimal("1.5"),
        "decimal nan": Decimal("sNaN"),
        "complex": 1j,
        "date": date(2024, 1, 1),
        "datetime": datetime(2024, 1, 1),
        "zoned": datetime(2024, 1, 1, tzinfo=UTC),
        "span": timedelta(days=1),
        "greatest span": timedelta.max,
        "long text span": "9" * 400 + " days",
        "table": ROWS,
        "table class": pa.Table,
        "class": int,
        "function": len,
        "lambda": lambda *_: None,
        "module": np,
        "ellipsis": ...,
        "series": pd.Series([1, 2]),
        "polars series": pl.Series([1, 2]),
        "arrow array": pa.array([1, 2]),
        "relation": tl.allen.during,
        "period": tl.Period("a", "b"),
        "slide": SLIDE,
        "exception": ValueError("x"),
    }


def guarded(call):
    """Run a call; whatever it raises must be ours. Returns the error, if any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call()
            if inspect.isgenerator(result):
                list(result)
        except tl.TimeloomError as error:
            return error
    return None


def failures(calls):
    """The calls that raise something else, by name."""
    found = {}
    for name, call in calls:
        try:
            guarded(call)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


def valid_call(verb):
    """Arguments with which a verb works."""
    tables = dict.fromkeys(verb.inputs, HISTORY if verb.name == "sliding_windows" else ROWS)
    more = {
        "sliding_windows": {"sys": SLIDE, "app": SLIDE, "steps": 2},
        "temporal_aggregate": {"aggregates": {"n": "count"}},
        "stab": {"at": 2},
        "top_k": {"k": 1},
        "as_of": {"at": "start"},
        "split": {"every": 3},
    }
    return tables | more.get(verb.name, {})


def matrix(function, valid, options=None):
    for option in options or inspect.signature(function).parameters:
        if option == "self":
            continue
        for name in odd_values():

            def call(option=option, name=name):
                return function(**(valid() | {option: odd_values()[name]}))

            yield f"{option}={name}", call


@pytest.mark.parametrize("name", verbs())
def test_verbs_refuse_what_they_cannot_use_in_their_own_words(name):
    verb = verbs()[name]
    assert guarded(lambda: verb.function(**valid_call(verb))) is None
    assert failures(matrix(verb.function, lambda: valid_call(verb))) == {}


@pytest.mark.parametrize("rows", [ROWS, DAYS, ZONED], ids=["integers", "dates", "zoned"])
def test_instants_are_read_or_refused(rows):
    def stab(**options):
        return tl.stab(rows, **options)

    def stab_several(at):
        return tl.stab(rows, [at, at])

    def gaps(**options):
        return tl.gaps(rows, **options)

    def window(begin):
        return tl.gaps(rows, within=(begin, None))

    def window_end(end):
        return tl.depth(rows, fill=True, within=(rows["start"][0].as_py(), end))

    def sentinel(open_end):
        return tl.join(rows, rows, period=tl.Period("start", "end", open_end=open_end))

    def sentinels(open_end):
        return tl.coalesce(rows.select(["start", "end"]), period=tl.Period("start", "end", open_end=[open_end]))

    calls = [(stab, ["at"]), (stab_several, ["at"]), (gaps, ["within"]), (window, ["begin"]), (window_end, ["end"])]
    calls += [(sentinel, ["open_end"]), (sentinels, ["open_end"])]
    for function, options in calls:
        assert failures(matrix(function, dict, options)) == {}, function.__name__


EVENTS = pa.table({"id": [1, 2], "time": [0, 5], "event": ["start", "start"]})
FACT = {"name": "J", "balance": 50, "app_start": 10, "app_end": None}
SLIDES = {"sys": SLIDE, "app": SLIDE, "steps": 2}
NONE = {"left": Events.none(), "right": Events.none()}


def forest():
    return tl.StabForest.build([0, 2, 4], [3, 4, 9])


def facts():
    table = tl.BitemporalTable(key="name")
    table.insert(FACT, sys=100)
    return table


def live():
    running = LiveForest()
    running.push(EVENTS, until=6)
    return running


def index():
    return tl.BitemporalIndex(HISTORY)


def watermarked():
    return tl.StabForest(order="watermark")


def endpoint_join():
    return EndpointJoin(tl.allen.during)


FUNCTIONS = {
    tl.Period: {},
    tl.Relation: {},
    tl.Slide: {"start": 1, "range": 2},
    tl.relation: {"name": "during"},
    tl.explain: {"verb": "join"},
    tl.install: {},
    tl.pattern: {"tables": {"a": ROWS, "b": ROWS}, "relations": [("a", "before", "b")]},
    tl.stream_pattern: {"streams": {"a": EVENTS, "b": EVENTS}, "relations": [("a", "before", "b")]},
    tl.stream_aggregate: {"df": EVENTS, "aggregates": {"n": "count"}},
    tl.stream_coalesce: {"df": EVENTS},
    tl.stream_count: {"left": EVENTS, "right": EVENTS},
    tl.stream_join: {"left": ROWS, "right": ROWS},
    tl.StabForest: {},
    tl.StabForest.build: {"starts": [1], "ends": [2]},
    tl.StabForest.load: {"path": "missing"},
    tl.BitemporalTable: {"key": "name"},
    tl.BitemporalTable.load: {"path": "missing"},
    tl.BitemporalIndex: {"table": HISTORY},
    tl.BitemporalIndex.load: {"path": "missing"},
    StreamJoin: {},
    StreamAggregate: {"aggregates": {"n": "count"}},
    StreamCoalesce: {},
    StreamCount: {},
    StreamPattern: {"names": ["a", "b"], "relations": [("a", "before", "b")]},
    LiveForest: {},
    EndpointCount: {},
    EndpointJoin: {"relation": tl.allen.during},
    **{maker: {} for maker, _ in tl.iseql.MAKERS.values()},
}
METHODS = [
    (forest, "append", {"start": 10, "end": 12}),
    (forest, "extend", {"starts": [10], "ends": [12]}),
    (forest, "begin", {"start": 10}),
    (forest, "handle", {"event": 1}),
    (forest, "finish", {"handle": None, "end": 3}),
    (watermarked, "advance", {"watermark": 3}),
    (forest, "stab", {"t": 3}),
    (forest, "count", {"t": 3}),
    (forest, "count_many", {"ts": [3]}),
    (forest, "stab_many", {"ts": [3]}),
    (forest, "multi_stab", {"ts": [3]}),
    (forest, "overlapping", {"begin": 3}),
    (forest, "skip_join", {"other": ([1], [2])}),
    (forest, "save", {"path": "kept"}),
    (facts, "insert", {"rows": FACT, "sys": 101}),
    (facts, "update", {"key": "J", "values": {"balance": 1}, "sys": 101}),
    (facts, "delete", {"key": "J", "sys": 101}),
    (facts, "as_of", {}),
    (facts, "save", {"path": "kept"}),
    (index, "append", {"table": HISTORY}),
    (index, "end", {"rows": [1], "at": 9}),
    (index, "apply", {}),
    (index, "checkpoint", {}),
    (index, "windows", SLIDES),
    (index, "as_of", {"app": 3}),
    (index, "rows", {"numbers": np.array([1])}),
    (index, "cells", {}),
    (index, "save", {"path": "kept"}),
    (StreamJoin, "push", {}),
    (live, "push", {"events": EVENTS}),
    (live, "active", {}),
    (live, "count", {}),
    (EndpointCount, "push", NONE),
    (endpoint_join, "push", NONE),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__qualname__)
def test_functions_and_constructors_refuse_what_they_cannot_use(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert failures(matrix(function, lambda: dict(FUNCTIONS[function]))) == {}


BESIDE_AN_INDEX = {verb: {"left": ROWS, "right": FOREST} for verb in (tl.join, tl.count_join, tl.nearest)}
BESIDE_AN_INDEX[tl.stab] = {"df": FOREST, "at": 1}


@pytest.mark.parametrize("verb", BESIDE_AN_INDEX, ids=lambda verb: verb.__name__)
def test_verbs_beside_an_index_refuse_what_they_cannot_use(verb):
    assert failures(matrix(verb, lambda: dict(BESIDE_AN_INDEX[verb]))) == {}


@pytest.mark.parametrize(
    ("make", "name", "valid"), METHODS, ids=[f"{make.__name__}.{name}" for make, name, _ in METHODS]
)
def test_methods_refuse_what_they_cannot_use(make, name, valid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(**options):
        return getattr(make(), name)(**options)

    options = inspect.signature(getattr(make(), name)).parameters
    assert failures(matrix(call, lambda: dict(valid), options)) == {}


def test_queries_refuse_texts_and_tables_that_are_none():
    texts = [("text=" + name, lambda name=name: tl.sql(odd_values()[name], t=ROWS)) for name in odd_values()]
    tables = [("t=" + name, lambda name=name: tl.sql("select * from t", t=odd_values()[name])) for name in odd_values()]
    deep = [("deep", lambda: tl.sql(f"select {'(' * 500}1{')' * 500} as x from t", t=ROWS))]
    assert failures([*texts, *tables, *deep]) == {}


WRONG = [
    (tl.join, {"how": 1}, "how=1 is of type int; how takes one of 'inner'"),
    (tl.join, {"overlap": "yes"}, "overlap='yes' is unknown. Known: length"),
    (tl.join, {"batches": 3}, "batches=3 is of type int; batches takes True or False"),
    (tl.join, {"batch_rows": 1.5}, "batch_rows=1.5 is of type float; batch_rows takes a whole number"),
    (tl.join, {"batch_rows": True}, "batch_rows=True is of type bool"),
    (tl.join, {"batch_rows": 0, "batches": True}, "batch_rows=0 is too small"),
    (tl.join, {"on": 3}, "on=3 is of type int; on takes a text or a list of texts or None"),
    (tl.join, {"on": {"key"}}, "on={'key'} is of type set"),
    (tl.join, {"on": b"key"}, "on=b'key' is of type bytes"),
    (tl.join, {"relation": None}, "relation=None is of type NoneType; relation takes the name of a relation"),
    (tl.join, {"left_period": 0}, "left_period=0 is of type int; left_period takes two column names"),
    (tl.join, {"left_period": []}, r"period=\[\] has 0 parts"),
    (tl.join, {"period": None}, "period=None is of type NoneType"),
    (tl.join, {"bathces": True}, "unexpected keyword argument 'bathces'. Did you mean 'batches'"),
    (tl.join, {"delta": True, "relation": "iseql.before"}, "delta=True"),
    (tl.join, {"delta": 2**63, "relation": "iseql.before"}, "does not fit into int64"),
    (tl.top_k, {"k": True}, "k=True is of type bool; k takes a whole number"),
    (tl.top_k, {"k": 2.5}, "k=2.5 is of type float"),
    (tl.top_k, {"k": 2**31}, "k=2147483648 is no number of rows"),
    (tl.nearest, {"k": 0}, "k=0 is no number of rows; give 1 or more, at most 2,147,483,647"),
    *(
        (verb, {"columns": ["value", "key", "value"]}, "columns= names 'value' twice; name each column once")
        for verb in (tl.join, tl.as_of, tl.nearest, tl.temporal_join, tl.temporal_antijoin)
    ),
    (tl.count_join, {"name": 3}, "name=3 is of type int; name takes a text"),
    (tl.count_join, {"aggregates": [1]}, "aggregates=.1. is of type list; aggregates takes a mapping or None"),
    (tl.depth, {"fill": 1}, "fill=1 is of type int; fill takes True or False"),
    (tl.depth, {"within": 3}, "within=3 is of type int"),
    (tl.stab, {"at": True}, "at=True does not fit"),
]


@pytest.mark.parametrize(("verb", "options", "words"), WRONG, ids=[str(options) for _, options, _ in WRONG])
def test_what_is_refused_is_named_with_what_the_option_takes(verb, options, words):
    valid = valid_call(verbs()[verb.__name__])
    with pytest.raises(tl.UsageError, match=words):
        verb(**(valid | options))


def test_every_verb_that_takes_columns_refuses_one_named_twice():
    takes = {name for name, verb in verbs().items() if "columns" in inspect.signature(verb.function).parameters}
    assert takes == {verb.__name__ for verb, options, _ in WRONG if "columns" in options}


def test_numbers_of_numpy_are_numbers():
    assert tl.top_k(ROWS, ROWS, np.int64(1)).num_rows == 1
    assert tl.depth(ROWS, fill=np.bool_(True)).equals(tl.depth(ROWS, fill=True))
    assert tl.join(ROWS, ROWS, on=np.array(["key"])).num_rows == 2


def test_two_columns_of_one_name_are_refused_by_name():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["start", "end", "x", "x"])
    with pytest.raises(tl.InvalidInputError, match="left table has more than one column named 'x'"):
        tl.join(frame, frame)


def test_spark_refuses_the_same_calls_before_anything_runs(spark):
    frame = spark.createDataFrame(ROWS.to_pandas())
    for verb, options, words in WRONG:
        inputs = dict.fromkeys(verbs()[verb.__name__].inputs, frame)
        with pytest.raises(
            tl.UsageError, match=words.replace("batch_rows=0 is too small", "batches=True is for local")
        ):
            verb(**(valid_call(verbs()[verb.__name__]) | inputs | options))
