"""CONTRIBUTING.md is true: recipes have all the files that a relation, a verb, … stands in, and no other."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import yaml

from timeloom.model import aggregates, allen, count_join, iseql, join, sequenced
from timeloom.operators.registry import verbs
from timeloom.pipeline.formats.compressed import SUFFIX
from timeloom.pipeline.formats.registry import FORMATS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/timeloom"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()

WITHOUT_ENGINE = {"depth"}
"""Verbs that are calls of other verbs."""

STREAMS = {"stream_aggregate", "stream_coalesce", "stream_count", "stream_join", "stream_pattern", "stream_windows"}
NO_VERBS = {"explain", "install", "with_schema", "merge", "pattern", *STREAMS}
"""What users call and the registry does not have."""

MACHINERY = {"again", "call", "engine", "options", "registry", "streams"}
"""Modules of operators/ that nobody calls."""

ALGORITHMS = (
    *(join.JoinAlgorithm, sequenced.SequencedAlgorithm, sequenced.AntijoinAlgorithm, sequenced.AggregateAlgorithm),
    count_join.CountAlgorithm,
)

KINDS = {
    "relation": [*allen.NAMES, *iseql.MAKERS],
    "aggregate": list(aggregates.AGGREGATES),
    "algorithm": [name for name in get_args(join.JoinAlgorithm) if name != "auto"],
    "file format": [name for name in FORMATS if not name.endswith(SUFFIX)],
    "verb": list(verbs()),
}
"""All that the tree knows of each kind; each one stands in the files that its recipe marks "always"."""

TELLING = {
    "relation": {name for name in KINDS["relation"] if "_" in name},
    "aggregate": {"avg", "var", "stddev", "count_distinct"},
    "algorithm": {name for names in ALGORITHMS for name in get_args(names)} - {"auto", "sweep", "cover"},
    "file format": set(KINDS["file format"]),
}
"""Names that mean nothing else in the tree: as values they stand nowhere but in the files of the recipe."""


def recipe(kind):
    """The rows of a recipe: path, what is done there, when."""
    section = re.search(rf"^### A new {kind}\n(.*?)(?=^##|\Z)", TEXT, re.M | re.S)[1]
    return re.findall(r"^\| `([^`]+)` \| (.+) \| (.+) \|$", section, re.M)


@cache
def values(file):
    """The texts that a module works with, documentation aside."""
    tree = ast.parse(file.read_text())
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told)
    return {node.value for node in found if isinstance(node.value, str)}


def says(path, name):
    return re.search(rf"\b{name}\b", (ROOT / path).read_text(), re.IGNORECASE) is not None


def test_there_are_five_recipes():
    assert re.findall(r"^### A new (.*)$", TEXT, re.M) == ["relation", "aggregate", "verb", "algorithm", "file format"]


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_a_recipe_exist(kind):
    rows = recipe(kind)
    assert rows
    missing = [path for path, _, _ in rows if "<verb>" not in path and not (ROOT / path).exists()]
    assert missing == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_one_stands_in_all_files_that_always_have_it(kind):
    paths = [path for path, _, when in recipe(kind) if when == "always" and "<verb>" not in path]
    assert paths
    assert [(path, name) for path in paths for name in KINDS[kind] if not says(path, name)] == []


@pytest.mark.parametrize("kind", TELLING)
def test_nothing_stands_in_a_file_that_the_recipe_does_not_have(kind):
    found = {str(file.relative_to(ROOT)) for file in PACKAGE.rglob("*.py") if values(file) & TELLING[kind]}
    assert found - {path for path, _, _ in recipe(kind)} == set()


@pytest.mark.parametrize("kind", TELLING)
def test_no_file_of_a_recipe_is_there_in_vain(kind):
    """Every source file has some name of the kind; modules that stand for others beside them need not."""
    sources = [path for path, what, _ in recipe(kind) if path.startswith("src/") and "beside" not in what]
    assert [path for path in sources if not any(says(path, name) for name in {*KINDS[kind], *TELLING[kind]})] == []


def test_relations_stand_in_one_file_each():
    for names, module in ((allen.NAMES, allen), (iseql.MAKERS, iseql)):
        assert all(hasattr(module, name) for name in names)


def test_verbs_have_their_files():
    patterns = [path for path, _, when in recipe("verb") if "<verb>" in path and when == "always"]
    assert len(patterns) == 3
    for verb in verbs():
        wanted = patterns if verb not in WITHOUT_ENGINE else [path for path in patterns if "/engines/" not in path]
        assert [path for path in wanted if not (ROOT / path.replace("<verb>", verb)).exists()] == [], verb


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ("operators", NO_VERBS | MACHINERY | WITHOUT_ENGINE),
        ("engines/local", {"pattern"}),
        ("engines/spark", {"pattern"}),
    ],
)
def test_folders_of_verbs_hold_nothing_else(folder, others):
    found = {file.stem for file in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert found == (set(verbs()) - WITHOUT_ENGINE) | others


def test_exceptions_are_told():
    told = re.search(r"^Not all that users call.*?\n\n", TEXT, re.M | re.S)[0]
    assert [name for name in WITHOUT_ENGINE | NO_VERBS if f"`{name}`" not in told] == []


def test_the_drawn_tree_is_the_tree():
    """Every package has its line in architecture.md, at its depth, and no line speaks of another."""
    page = (ROOT / "docs/development/architecture.md").read_text()
    drawing = page.partition("src/timeloom/\n")[2].partition("```")[0]
    drawn, above = set(), []
    for indent, name in re.findall(r"^( +)(\w+)/", drawing, re.M):
        above = [*above[: len(indent) // 2 - 1], name]
        drawn.add("/".join(above))
    packages = {str(file.parent.relative_to(PACKAGE)) for file in PACKAGE.rglob("__init__.py")} - {"."}
    assert drawn == packages


def test_hooks_run_what_the_gates_run():
    """The hooks of pre-commit are the commands of `make check`, in their order, on the whole tree."""
    makefile = (ROOT / "Makefile").read_text()
    gates = re.findall(r"^\t@\$\(BIN\)/(.*)$", re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.M)[1], re.M)
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == [f".venv/bin/{gate}" for gate in gates]
    for hook in local["hooks"]:
        assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == ("system", False, True)
