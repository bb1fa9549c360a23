"""The stub of the package says what the functions take, and a type checker learns from it what they return."""

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
from mypy import api

import timeloom as tl
from timeloom.operators.registry import verbs

ROOT = Path(__file__).parents[1]
STUB = ast.parse((ROOT / "src" / "timeloom" / "__init__.pyi").read_text())
OPTIONS: dict[str, Any] = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = sorted({node.name for node in STUB.body if isinstance(node, ast.FunctionDef)})
NARROWED = {"on_invalid": {"_Kept", "_Apart", "OnInvalid"}, "batches": {"Literal[False]", "Literal[True]", "bool"}}
"""Options on which the result depends: an overload takes some of their values, and must be told if not the default."""

FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table", "pyspark.sql": "DataFrame"}
CALLS = """
from collections.abc import Iterator
from typing import Any, Literal, assert_type
import pyarrow
import timeloom as tl
from {module} import {kind}

def results(a: {kind}, b: {kind}, forest: tl.StabForest, policy: Literal["drop", "quarantine"], flag: bool) -> None:
    assert_type(tl.join(a, b), {kind})
    assert_type(tl.join(a, forest, "during", on=["key"], how="left", columns=["x"], max_rows=5), {kind})
    assert_type(tl.join(a, b, on_invalid="drop", empty="point"), {kind})
    assert_type(tl.join(a, b, on_invalid="quarantine"), tl.Quarantined[{kind}])
    assert_type(tl.join(a, b, on_invalid=policy), {kind} | tl.Quarantined[{kind}])
    assert_type(tl.join(a, b, batches=True, batch_rows=10), Iterator[pyarrow.RecordBatch])
    assert_type(tl.join(a, b, batches=flag), {kind} | tl.Quarantined[{kind}] | Iterator[pyarrow.RecordBatch])
    result, rejected = tl.coalesce(a, by="key", on_invalid="quarantine")
    assert_type(result, {kind})
    assert_type(rejected, {kind})
    assert_type(tl.coalesce(a, period=("from", "to")), {kind})
    assert_type(tl.count_join(a, b, "meets", aggregates={{"total": ("price", "sum")}}), {kind})
    assert_type(tl.depth(a, within=(1, 9), name="n"), {kind})
    assert_type(tl.gaps(a, by=["key"], period=tl.Period("from", "to")), {kind})
    assert_type(tl.sliding_windows(a, tl.Slide(1, 2), tl.Slide(1, 2), steps=3, deltas=True), {kind})
    assert_type(tl.stab(a, 3), {kind})
    assert_type(tl.temporal_aggregate(a, {{"n": "count"}}, fill=True), {kind})
    assert_type(tl.temporal_antijoin(a, b, on="key", algorithm="dip"), {kind})
    assert_type(tl.temporal_join(a, b, how="full"), {kind})
    assert_type(tl.temporal_join([a, b, a], on="key"), {kind})
    assert_type(tl.temporal_join([a, b], a), {kind})
    assert_type(tl.temporal_join((a, b), on_invalid="quarantine"), tl.Quarantined[{kind}])
    assert_type(tl.top_k(a, b, 3, ties="all"), {kind})
    assert_type(tl.explain(tl.join, a, b), tl.Explanation)

def refused(a: {kind}) -> None:
    tl.join(a, a, how="inside")  # error
    tl.join(a, a, onn="key")  # error
    tl.coalesce(a, on_invalid="ignore")  # error
    tl.sliding_windows(a, tl.Slide(1, 2), tl.Slide(1, 2))  # error
    tl.top_k(a, a, "3")  # error
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """What mypy says of calls with tables of each kind. Stand-ins of the libraries keep it from reading them."""
    folder = tmp_path_factory.mktemp("typed")
    for module, kind in FRAMES.items():
        place = folder.joinpath("stand_ins", *module.split("."))
        place.mkdir(parents=True)
        (place / "__init__.pyi").write_text(f"class {kind}: ...\nclass RecordBatch: ...\n")
        (folder / f"calls_{place.name}.py").write_text(CALLS.format(module=module, kind=kind))
    (folder / "stand_ins" / "pyspark" / "__init__.pyi").touch()
    config = folder / "mypy.ini"
    config.write_text(
        f"[mypy]\nstrict = True\nmypy_path = {folder / 'stand_ins'}:{ROOT / 'src'}\nfollow_imports = silent\n"
        "[mypy-timeloom.*,numpy.*]\nfollow_imports = skip\nfollow_imports_for_stubs = True\n"
        "[mypy-timeloom,timeloom.errors,timeloom.model.*,timeloom.operators.*,timeloom.engines.tables.validity]\n"
        "follow_imports = silent\n"
    )
    files = [str(folder / f"calls_{module.rpartition('.')[2]}.py") for module in FRAMES]
    out, problem, _ = api.run(["--config-file", str(config), "--cache-dir", str(folder / "cache"), *files])
    assert not problem
    return out.splitlines()


@pytest.mark.parametrize("module", FRAMES)
def test_a_type_checker_knows_what_verbs_return(complaints, module):
    name = f"calls_{module.rpartition('.')[2]}.py"
    lines = CALLS.format(module=module, kind=FRAMES[module]).splitlines()
    expected = {number for number, line in enumerate(lines, start=1) if line.endswith("# error")}
    found = {int(line.split(":")[1]): line for line in complaints if f"{name}:" in line and ": error:" in line}
    assert {number: line for number, line in found.items() if number not in expected} == {}
    assert set(found) == expected


def test_every_public_name_is_in_the_stub():
    names = {alias.asname for node in STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert (names - {None}) | set(FUNCTIONS) == set(tl.__all__)
    assert set(verbs()) <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_stub_takes_what_the_function_takes(name):
    source = ast.parse(Path(inspect.getsourcefile(inspect.unwrap(getattr(tl, name)))).read_text())
    (function,) = [node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == name]
    wanted, tables = parameters(function), tables_of(name)
    overloads = [parameters(node) for node in STUB.body if isinstance(node, ast.FunctionDef) and node.name == name]
    for given in overloads:
        assert given.keys() == wanted.keys()
        assert list(given)[: len(function.args.args)] == [argument.arg for argument in function.args.args]
        for option, (annotation, default) in given.items():
            if option in tables:
                assert default in (None, wanted[option][1])
            elif option in NARROWED and name in verbs():
                assert annotation in NARROWED[option]
                assert default in (None, wanted[option][1])
            else:
                assert (option, annotation) == (option, wanted[option][0])
                assert default in (wanted[option][1], "left out")
                assert (default is None) == (wanted[option][1] is None), f"{option} is required on one side only"
    for option in NARROWED.keys() & wanted.keys() if name in verbs() else ():
        assert any(given[option][1] == wanted[option][1] for given in overloads), f"{option} has a default"
        assert len({given[option][0] for given in overloads}) > 1


def tables_of(name):
    return verbs()[name].inputs if name in verbs() else ("left", "right", "history", "feed", "df")


def parameters(function):
    """The parameters of a function in source text: annotation and default, the latter None where there is none."""
    given, positional = {}, function.args.args
    defaults = [None] * (len(positional) - len(function.args.defaults)) + function.args.defaults
    spelled = [
        *zip(positional, defaults, strict=True),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    for argument, default in spelled:
        given[argument.arg] = (written(argument.annotation), default and ast.unparse(default))
    if function.args.kwarg is not None:
        given |= fields(function.args.kwarg.annotation.slice.id)
    return given


def fields(name):
    """The keys of a TypedDict and of those that it inherits from; all may be left out."""
    if name not in OPTIONS:
        return {}
    found = {}
    for base in OPTIONS[name].bases:
        found |= fields(base.id)
    own = [node for node in OPTIONS[name].body if isinstance(node, ast.AnnAssign)]
    return found | {node.target.id: (written(node.annotation), "left out") for node in own}


def written(annotation):
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return ast.unparse(annotation)
