"""The sweeping join on every worked example and every rewrite of its paper."""

import itertools
import re

import numpy as np
import pytest

from kernels.whole import together
from reference.relations import ALLEN, ISEQL, Predicate, inverse, join_pairs
from timeloom.kernels.joins.sweep_join import Counters, PeriodTable, sweep_join, sweep_pages
from timeloom.kernels.joins.sweep_plan import rewrites
from timeloom.model.box import Box
from timeloom.model.names import relation
from timeloom.model.relation import Relation
from tree import worked_examples

CASES = worked_examples("sweeping").values()
SMALL = [(start, end) for start in range(5) for end in range(start + 1, 6)]


def cases(operator: str) -> list:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["operator"] == operator]


def period_table(periods: list) -> PeriodTable:
    columns = np.array(periods, np.int64).reshape(-1, 2)
    return PeriodTable(columns[:, 0].copy(), columns[:, 1].copy())


def limits(params: dict) -> dict[str, int]:
    names = {"delta": "delta", "eps": "epsilon"}
    return {names[name]: value for name, value in params.items() if value != "inf"}


def our_name(family: str, name: str) -> tuple[str, bool]:
    """Our name of a relation of the paper, and whether it is to be inverted."""
    inverted = name.startswith("INVERSE ")
    bare = name.removeprefix("INVERSE ").lower().replace(" ", "_")
    return (f"iseql.{bare}" if family == "ISEQL" else bare), inverted


def found_relation(family: str, name: str, params: dict) -> Relation:
    named, inverted = our_name(family, name)
    found = relation(named, **limits(params))
    return ~found if inverted else found


def predicate(family: str, name: str) -> Predicate:
    named, inverted = our_name(family, name)
    found = {**ALLEN, **ISEQL}[named]
    return inverse(found) if inverted else found


def joined(r: dict, s: dict, wanted: Relation, lazy: bool = True) -> list[list[str]]:
    pairs = []
    for box in wanted.boxes():
        left, right = sweep_join(period_table(list(r.values())), period_table(list(s.values())), box, lazy=lazy)
        pairs += [[list(r)[i], list(s)[j]] for i, j in zip(left.tolist(), right.tolist(), strict=True)]
    return sorted(pairs)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("case", cases("interval_join"))
def test_interval_join(case: dict, lazy: bool):
    given = case["input"]
    wanted = found_relation(given["family"], given["relation"], given["params"])
    assert joined(given["r"], given["s"], wanted, lazy) == sorted(case["expected"])


SELF_QUERIES = {"INTERSECTS": relation("intersects"), "SAME START": Relation(start_start=(0, 0))}


@pytest.mark.parametrize("case", cases("self_query"))
def test_queries_of_figure_1(case: dict):
    given = case["input"]
    symmetric = SELF_QUERIES.get(given["relation"])
    wanted = symmetric or found_relation(given["family"], given["relation"], given["params"])
    pairs = [[a, b] for a, b in joined(given["r"], given["r"], wanted) if a != b and (not symmetric or a < b)]
    assert pairs == sorted(case["expected"])


@pytest.mark.parametrize("case", cases("before_meets"))
def test_before_with_delta_is_meets_or_before(case: dict):
    for delta in case["input"]["deltas"]:
        near = Relation(start_end=(1, delta)) if delta else None
        wanted = relation("meets") | near if near else relation("meets")
        everyone = {str(span): span for span in SMALL}
        assert joined(everyone, everyone, relation("iseql.before", delta=delta)) == joined(everyone, everyone, wanted)


@pytest.mark.parametrize("case", cases("join_by_s"))
def test_join_by_s_at_the_boundaries(case: dict):
    given = case["input"]
    r, s = given["r"], given["s"]
    by_end, strict = (
        given["s_filter"] == "end",
        given["comp"] == ("<=" if given["s_filter"] == "end" else "<"),
    )
    if by_end:
        box = Box(end_start=(1, None), end_end=(None, -1 if strict else 0))
    else:
        box = Box(start_start=(1 if strict else 0, None), start_end=(None, -1))
    assert joined(r, s, Relation.of([box])) == sorted(case["expected"])


@pytest.mark.parametrize("case", cases("general_before"))
def test_general_before(case: dict):
    given = case["input"]
    limit = None if given["delta"] == "inf" else given["delta"]
    assert joined(given["r"], given["s"], Relation(start_end=(given["beta"], limit))) == sorted(case["expected"])


@pytest.mark.parametrize("case", cases("zero_length_join"))
def test_empty_intervals_are_never_active(case: dict):
    """What ends before it starts is passed over, where the algorithm as printed keeps it for ever."""
    r, s = case["input"]["r"], case["input"]["s"]
    low = np.array([start for start, _ in r.values()])
    high = np.array([end - 1 for _, end in r.values()])
    intervals, _ = together(sweep_pages(np.array([start for start, _ in s.values()]), low, high))
    assert [list(r)[row] for row in intervals] == case["expected"]["by_definition"]


@pytest.mark.parametrize("case", cases("lazy_counts"))
def test_lazy_joining_scans_less(case: dict):
    r, s = period_table(list(case["input"]["r"].values())), period_table(list(case["input"]["s"].values()))
    (box,) = relation("iseql.start_preceding").boxes()
    plain, lazy = Counters(), Counters()
    sweep_join(r, s, box, lazy=False, counters=plain)
    sweep_join(r, s, box, lazy=True, counters=lazy)
    expected = case["expected"]
    assert (plain.scans, plain.getnext, plain.pairs, plain.reduction) == (
        expected["scans_joinbys"],
        expected["getnext_joinbys"],
        expected["pairs"],
        1.0,
    )
    assert (lazy.scans, lazy.getnext, lazy.pairs) == (
        expected["scans_lazy"],
        expected["getnext_lazy"],
        expected["pairs"],
    )
    assert lazy.reduction == expected["getnext_joinbys"] / expected["getnext_lazy"]


def python_expression(text: str) -> str:
    return re.sub(r"\b([rs])\.(Ts|Te)", r"\1_\2", text).replace("inf", "10**6")


@pytest.mark.parametrize("case", cases("rewrite_equivalence"))
def test_rewrites_of_section_4(case: dict):
    """Map, interval-timestamp join and selection as the paper has them. Our own rewrite takes the same road,
    except that of two limits the narrower one decides.
    """
    given, plan = case["input"], case["input"]["plan"]
    left_intervals = plan["interval_side"] == "r"
    domains = [[0, 1, 3, "inf"] for _ in given["params"]]
    same = True
    for values in itertools.product(*domains):
        params = dict(zip(given["params"], values, strict=True))
        expected = join_pairs(SMALL, SMALL, predicate(given["family"], given["relation"]), **limits(params))
        same = same and planned(plan, params, left_intervals) == expected
        checked = case["expected"]["equivalent"] and not case["id"].endswith("-alt")
        if checked and len(values) < 2 and "inf" not in values:
            (box,) = found_relation(given["family"], given["relation"], params).boxes()
            (own,) = rewrites(box)
            assert (own.left_intervals, own.end_points) == (left_intervals, plan["join"] == "end")
    assert same == case["expected"]["equivalent"]


def planned(plan: dict, params: dict, left_intervals: bool) -> list[tuple[int, int]]:
    numbers = {name: 10**6 if value == "inf" else value for name, value in params.items()}
    mapped = [
        [eval(python_expression(plan["map"][name]), {"Ts": start, "Te": end, **numbers}) for name in ("Ts", "Te")]
        for start, end in SMALL
    ]
    strict = plan["theta"] == "<"
    if plan["join"] == "start":
        low, high, at = [a + strict for a, _ in mapped], [b - 1 for _, b in mapped], 0
    else:
        low, high, at = [a + 1 for a, _ in mapped], [b - strict for _, b in mapped], 1
    points = np.array([span[at] for span in SMALL])
    intervals, fired = together(sweep_pages(points, np.array(low), np.array(high)))
    sides = (intervals, fired) if left_intervals else (fired, intervals)
    pairs = zip(sides[0].tolist(), sides[1].tolist(), strict=True)
    return sorted(pair for pair in pairs if selected(plan["select"], *pair, numbers))


def selected(condition: str | None, i: int, j: int, numbers: dict) -> bool:
    if condition is None:
        return True
    (r_start, r_end), (s_start, s_end) = SMALL[i], SMALL[j]
    names = {"r_Ts": r_start, "r_Te": r_end, "s_Ts": s_start, "s_Te": s_end, **numbers}
    return bool(eval(python_expression(condition), names))
