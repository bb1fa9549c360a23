"""Nothing stands in the source that only tests call: it would be kept alive and prove nothing.

Benchmarks count: they run the algorithms of papers by themselves, beside their peers.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tree import ROOT

SOURCE = ROOT / "src" / "timeloom"

ALONE = {"full_join"}
"""The paper's full outer operator on two partitions, as its worked examples have it; verbs merge more at a time."""


def trees(folder: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")}


def definitions(tree: ast.Module) -> Iterator[str]:
    """Functions and classes of a module that nothing but a name can reach: decorators may hand them on."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            kept = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
            if kept <= {"compiled", "dataclass", "cache", "lru_cache", "inlined"} and not node.name.startswith("__"):
                yield node.name


def mentions(tree: ast.Module) -> Counter[str]:
    """How often names are used; neither a definition nor an import is a use."""
    used: Counter[str] = Counter()
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used[node.id] += 1
        elif isinstance(node, ast.Attribute):
            used[node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            used.update(part for part in node.value.replace("[", " ").replace("]", " ").split() if part.isidentifier())
        elif isinstance(node, ast.ImportFrom):
            used.update(alias.name for alias in node.names if alias.asname == alias.name)
    return used


def test_every_function_and_class_is_used() -> None:
    found, measured = trees(SOURCE), trees(ROOT / "benchmarks")
    used: Counter[str] = sum(map(mentions, [*found.values(), *measured.values()]), Counter())
    stub = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    dead = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path, tree in found.items()
        for name in definitions(tree)
        if not used[name] and name not in ALONE and f" {name} as {name}" not in stub
    ]
    assert not dead, "\n".join(["only tests use these, or nothing does:", *sorted(dead)])
