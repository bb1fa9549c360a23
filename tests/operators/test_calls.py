"""Verbs make calls: the result and the explanation of one call read the same request, and an engine runs it."""

import ast
import inspect
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.local import LocalEngine
from timeloom.engines.spark import SparkEngine
from timeloom.model.join import JoinRequest
from timeloom.model.names import relation
from timeloom.model.naming import Keys
from timeloom.model.policy import Policy
from timeloom.model.sequenced import TemporalJoinRequest
from timeloom.operators.call import Call, PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verbs

ROWS = pa.table({"key": ["a", "b", "b"], "value": [1, 2, 3], "start": [1, 2, 5], "end": [3, 9, 4]})
HISTORY = pa.table({"fee": [5, 7], "sys_start": [1, 5], "sys_end": [4, 2], "app_start": [1, 2], "app_end": [9, 9]})
MOMENTS = pa.table({"key": ["a", "b", "b"], "value": [1, 2, 3], "at": [1, 2, None]})
TABLES = {"sliding_windows": HISTORY, "as_of": MOMENTS}
NEEDED: dict[str, dict[str, Any]] = {
    "stab": {"at": 2},
    "split": {"every": 2},
    "temporal_aggregate": {"aggregates": {"n": "count"}},
    "top_k": {"k": 1},
    "sliding_windows": {"sys": tl.Slide(1, 2), "app": tl.Slide(1, 2), "steps": 1},
}
DROPPING = [name for name, verb in verbs().items() if "on_invalid" in inspect.signature(verb.function).parameters]
EXPLAINED = [name for name, verb in verbs().items() if verb.explains]


def arguments(verb):
    """Arguments for a verb, whose tables have one row each that is invalid."""
    rows = TABLES.get(verb.name, ROWS)
    policy = {"on_invalid": "drop"} if verb.name in DROPPING else {}
    return {**dict.fromkeys(verb.inputs, rows), **NEEDED.get(verb.name, {}), **policy}


@pytest.mark.parametrize("name", verbs())
def test_a_verb_has_the_signature_of_its_function_and_a_result_of_its_own(name):
    verb = verbs()[name]
    assert getattr(tl, name) is verb.function
    assert (verb.function.__name__, verb.function.__module__) == (name, f"timeloom.operators.{name}")
    public, planned = (inspect.signature(function, eval_str=True) for function in (verb.function, verb.call))
    assert public.parameters == planned.parameters
    assert public.return_annotation is Any
    assert issubclass(planned.return_annotation, Call)
    assert set(verb.inputs) <= set(public.parameters)


@pytest.mark.parametrize("name", DROPPING)
def test_a_call_runs_nothing_before_it_is_asked(name):
    verb = verbs()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call = verb.call(**arguments(verb))
    assert isinstance(call, PlannedCall) == verb.explains
    with pytest.warns(tl.DroppedRowsWarning):
        assert call.run().equals(verb.function(**arguments(verb)))


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_rows_are_told_where_the_verb_is_called(name):
    verb = verbs()[name]
    with pytest.warns(tl.DroppedRowsWarning) as told:
        verb.function(**arguments(verb))
    assert {warning.filename for warning in told} == {__file__}


def refusal(function, *args, **options):
    """The words in which a call is refused before it runs, without the addresses of objects."""
    try:
        function(*args, **options)
    except tl.UsageError as error:
        return str(error).partition(" at 0x")[0]
    return None


@pytest.mark.parametrize("name", EXPLAINED)
def test_explain_refuses_what_the_verb_refuses_in_the_same_words(name):
    verb, refused = verbs()[name], 0
    for option in inspect.signature(verb.function).parameters:
        for odd in (object(), "nonsense", -1):
            given = {**arguments(verb), option: odd}
            words = refusal(verb.call, **given)
            if words is not None:
                refused += 1
                assert words == refusal(verb.function, **given) == refusal(tl.explain, name, **given)
    assert refused > 5


def test_a_limit_of_top_k_is_read_by_explain_too():
    with pytest.raises(tl.UsageError, match="k=-1 is no number of rows"):
        tl.explain(tl.top_k, ROWS, ROWS, -1)


@pytest.mark.spark
def test_tables_choose_the_engine():
    """By their classes, both of Spark's among them; the frames here have none of Spark's machinery."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

    classic, connect = (object.__new__(kind) for kind in (ClassicFrame, ConnectFrame))
    for frame in (classic, connect):
        object.__setattr__(frame, "_session", None)
    assert isinstance(engine_of({"left": ROWS, "right": pd.DataFrame()}), LocalEngine)
    assert isinstance(engine_of({"left": classic, "right": connect}), SparkEngine)
    with pytest.raises(tl.UsageError, match="of different families .left is DataFrame, right is Table."):
        engine_of({"left": classic, "right": ROWS})


def test_verbs_and_engines_meet_by_types_alone():
    """No module is loaded by a text, no request is made of whatever a function knows, no class known by its module."""
    package = Path(tl.__file__).parent
    found = {}
    for folder in ("model", "engines", "operators"):
        for file in (package / folder).rglob("*.py"):
            nodes = list(ast.walk(ast.parse(file.read_text())))
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            if used := names & {"importlib", "import_module", "__import__", "locals", "__module__"}:
                found[str(file.relative_to(package))] = used
    assert found == {"operators/registry.py": {"importlib", "import_module"}}, "the registry alone looks for its verbs"


class LikeSpark:
    """A class that says it comes from Spark."""

    __module__ = "pyspark.sql.frames"


def test_a_class_is_not_known_by_the_name_of_its_module():
    with pytest.raises(tl.UsageError, match="the left input is a LikeSpark; give a Spark DataFrame"):
        tl.join(LikeSpark(), LikeSpark())


@pytest.mark.spark
def test_spark_refuses_what_is_for_local_tables():
    sides = {"keys": Keys(), "left_period": tl.Period(), "right_period": tl.Period(), "policy": Policy()}
    request = JoinRequest(relation("intersects"), how="inner", max_rows=5, **sides)
    sequenced = TemporalJoinRequest(how="inner", max_rows=5, **sides)
    engine, frames = SparkEngine(), (object(), object())
    for call in (
        lambda: engine.join(*frames, request),
        lambda: engine.explain_join(*frames, request),
        lambda: engine.temporal_join(frames, [sequenced]),
        lambda: engine.explain_temporal_join(frames, [sequenced]),
    ):
        with pytest.raises(tl.UsageError, match="max_rows= is for local tables"):
            call()
    with pytest.raises(tl.UsageError, match="batches=True is for local tables"):
        engine.join_batches(*frames, request, 0)
