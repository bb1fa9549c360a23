"""Each module of kernels has a test that calls it by itself, or a reason why its caller's tests are its own."""

import ast
from pathlib import Path

import timeloom.kernels
from tree import TESTS

ROOT = Path(timeloom.kernels.__file__).parent

THROUGH_CALLERS = {
    "notice": "listens to the compiler and has no kernel; cli/test_first_minute has its cases",
    "joins.runs": "runs are half of a join: engines/joins writes them, and each relation is compared with brute force",
    "coverage": "marks that temporal_antijoin, stab and the skip-join filter by, each compared with brute force",
    "bitemporal.buckets": "parts of one index, which is compared with brute force after each batch",
    "bitemporal.check": "judges arrays of saved indexes: forged files of every kind are its cases (fuzz/index_files)",
    "counts.dominance_sweeps": "passes over ranks that dominance prepares; dominance is tested by rectangles",
    "counts.spread": "variances from sums of limbs, which count_join compares with exact ones for every relation",
    "stab_forest.check": "judges arrays of saved forests: forged files are its cases (fuzz/index_files)",
    **dict.fromkeys(
        [f"streaming.{name}" for name in ("agenda", "certainty", "direct_sweep", "foresight", "pairs")]
        + [
            f"streaming.{name}"
            for name in (
                "plain_sweep",
                "planned_sweep",
                "planned_keys",
                "scan",
                "schedule",
                "together",
                "unmatched",
                "waiting",
            )
        ],
        "a step of one loop over shared state, which means nothing half-way: streaming/test_operator compares each "
        "pair and its instant with all futures, by every sweep, for every relation",
    ),
}


def modules():
    files = (file.relative_to(ROOT).with_suffix("") for file in ROOT.rglob("*.py") if file.stem != "__init__")
    return {".".join(file.parts) for file in files}


def called_by_tests():
    """Modules of kernels that tests import, whole or something of them."""
    found = set()
    for file in (TESTS / "kernels").rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("timeloom.kernels"):
                inner = node.module.removeprefix("timeloom.kernels").removeprefix(".")
                found |= {inner, *(f"{inner}.{name.name}".removeprefix(".") for name in node.names)}
    return found & modules()


def test_every_module_is_tested_by_itself_or_says_why_not():
    untested = modules() - called_by_tests()
    assert untested == set(THROUGH_CALLERS)
