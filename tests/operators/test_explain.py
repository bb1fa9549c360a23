"""A plan is told without running it: no kernel sees more than a sample, whatever verb and algorithm are asked for."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.kernels.jit import Kernel
from timeloom.operators.registry import verbs

ROWS, SAMPLE = 30_000, 20_000


def drawn_rows(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, ROWS, ROWS)
    return pa.table({"key": rng.integers(0, 9, ROWS), "price": rng.random(ROWS), "start": start, "end": start + 5})


LEFT, RIGHT = drawn_rows(1), drawn_rows(2)
HISTORY = pa.table({f"{axis}_{name}": LEFT[name] for axis in ("sys", "app") for name in ("start", "end")})
INSTANTS = LEFT.select(["start"])
JOINS = ["auto", "forward_scan", "sweep", "range_tree", "skip"]
CALLS: list[tuple[Any, ...]] = [
    *((tl.join, LEFT, RIGHT, {"algorithm": name, **keys}) for name in JOINS for keys in ({}, {"on": "key"})),
    *((tl.join, LEFT, RIGHT, {"relation": "during", "algorithm": name}) for name in JOINS),
    (tl.join, LEFT, RIGHT, {"relation": "meets", "how": "anti"}),
    *((tl.temporal_join, LEFT, RIGHT, {"algorithm": name, "how": "full"}) for name in ("auto", "sweep", "dip")),
    (tl.temporal_join, [LEFT, RIGHT, LEFT], {"on": "key"}),
    *((tl.temporal_antijoin, LEFT, RIGHT, {"algorithm": name}) for name in ("cover", "dip")),
    *((tl.temporal_aggregate, LEFT, {"n": "count"}, {"algorithm": name}) for name in ("sweep", "dip")),
    (tl.depth, LEFT, {"by": "key"}),
    (tl.coalesce, LEFT, {}),
    (tl.gaps, LEFT, {"by": "key"}),
    *((tl.count_join, LEFT, RIGHT, {"relation": name}) for name in ("intersects", "overlaps", "before")),
    (tl.top_k, LEFT, RIGHT, 5, {}),
    (tl.nearest, LEFT, RIGHT, {"k": 2}),
    (tl.as_of, INSTANTS, INSTANTS, {"at": "start"}),
    (tl.as_of, LEFT, RIGHT, {"at": "start", "on": "key"}),
    (tl.nearest, LEFT, RIGHT, 2, {"on": "key"}),
    (tl.join, LEFT, RIGHT, {"where": "price < price_right", "max_gap": 3}),
    (tl.join, LEFT, RIGHT, {"min_overlap": ("left", 0.5)}),
    (tl.temporal_aggregate, LEFT, {"n": "count"}, {"every": 100}),
    (tl.temporal_join, LEFT, RIGHT, {"how": "semi"}),
    (tl.stab, LEFT, [1, 5], {}),
    (tl.split, LEFT, {"every": 10}),
    (tl.lanes, LEFT, {"by": "key"}),
    (tl.check, LEFT, {"by": "key"}),
    *((verb, LEFT, RIGHT, {}) for verb in (tl.temporal_union, tl.temporal_intersect, tl.temporal_except)),
    (tl.sliding_windows, HISTORY, tl.Slide(1, 2), tl.Slide(1, 2), {"steps": 3}),
]


def only_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on kernels that are given more values than a sample has raise.

    They must have run before: what is compiled later would find a guard where it needs a kernel.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("timeloom"):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, Kernel):
                    monkeypatch.setattr(module, attribute, guarded(value))


def guarded(kernel: Any) -> Any:
    def run(*args: Any) -> Any:
        largest = max((array.size for array in arrays(args)), default=0)
        assert largest <= SAMPLE, f"{kernel.__name__} ran over {largest} values"
        return kernel(*args)

    return run


def arrays(given: Any) -> Iterator[np.ndarray]:
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, tuple):
        for part in given:
            yield from arrays(part)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0].__name__}-{call[-1]}")
def test_explaining_runs_nothing(call, monkeypatch):
    verb, *args, options = call
    tl.explain(verb, *args, **options)
    only_samples(monkeypatch)
    plan = tl.explain(verb, *args, **options)
    assert plan.why
    wanted = options.get("algorithm", "auto")
    assert wanted == "auto" or plan["algorithm"] == wanted


def test_the_guard_stops_what_runs(monkeypatch):
    tl.join(LEFT, RIGHT)
    only_samples(monkeypatch)
    with pytest.raises(AssertionError, match="ran over"):
        tl.join(LEFT, RIGHT)


def test_every_verb_that_can_run_in_several_ways_was_asked():
    planned = {name for name, verb in verbs().items() if verb.explains}
    assert planned == {call[0].__name__ for call in CALLS}


@pytest.mark.parametrize("name", ["stab", "temporal_union"])
def test_verbs_without_a_plan_say_so_and_run_nothing(name, monkeypatch):
    verb = verbs()[name]
    monkeypatch.setitem(verb.__dict__, "explains", False)
    for kept in ("call", "function"):
        monkeypatch.setitem(verb.__dict__, kept, lambda *_, **__: pytest.fail(f"{name} ran"))
    for asked in (name, getattr(tl, name)):
        with pytest.raises(tl.UsageError, match=f"{name} runs in one way only; there is nothing to explain"):
            tl.explain(asked, *(LEFT for _ in verb.inputs))


@pytest.mark.parametrize("verb", ["pattern", tl.pattern])
def test_patterns_are_told_without_running_them(verb, monkeypatch):
    call = {"a": LEFT, "b": RIGHT}, [("a", "before", "b")]
    tl.explain(verb, *call)
    only_samples(monkeypatch)
    assert tl.explain(verb, *call, on="key").why
    for misused, words in (({"nothing": 1}, "unexpected keyword argument 'nothing'"), ({"empty": 3}, "empty=3")):
        with pytest.raises(tl.UsageError, match=words):
            tl.explain(verb, *call, **misused)
    with pytest.raises(tl.UsageError, match="pattern: missing a required argument: 'relations'"):
        tl.explain(verb, {"a": LEFT})


def test_a_merge_says_how_it_would_run_and_what_it_lacks():
    still = pa.array([None], pa.int64())
    periods = {"app_start": [10], "app_end": still}
    history = pa.table({"name": ["John"], **periods, "sys_start": [100], "sys_end": still})
    feed = pa.table({"op": ["delete"], "at": [102], "seen": [1], "name": ["John"], **periods})
    for verb in ("merge", tl.merge):
        plan = tl.explain(verb, history, feed, "name", sys="at", order="seen")
        assert (plan.engine, plan["algorithm"], plan["changes by"]) == ("local", "replay", ["at", "seen"])
    for misused, words in (
        ({"key": "nme"}, "no column 'nme'"),
        ({"key": "name"}, "no column 'sys'"),
        ({"key": "name", "lte": "now"}, "Did you mean 'late'"),
        ({"key": "name", "sys": "at", "sample": True}, "merge on the local engine has no sample"),
    ):
        with pytest.raises(tl.TimeloomError, match=words):
            tl.explain("merge", history, feed, **misused)


def test_a_chain_of_joins_tells_its_tables():
    plan = tl.explain(tl.temporal_join, [LEFT, RIGHT, LEFT.slice(0, 10)])
    assert (plan["tables"], plan["rows"]) == (3, [ROWS, ROWS, 10])
    assert "each of the 1 further tables is joined to the result of those before it" in plan.why


def test_partitions_are_foretold():
    rows = pa.table({"start": [0, 0, 5, 9], "end": [5, 7, 9, 10]})
    plan = tl.explain(tl.temporal_join, rows, rows.slice(0, 2), algorithm="dip", m=1)
    assert (plan["depth"], plan["right depth"], plan["m"]) == (2, 2, 1)
    assert plan["unproductive comparisons at most"] == 2 * 4 + 2 * 2
    plan = tl.explain(tl.temporal_antijoin, rows, rows, algorithm="dip")
    assert (plan["depth"], plan["m"], plan["unproductive comparisons at most"]) == (2, 2, 4 + 2 * 5)
    assert tl.explain(tl.temporal_aggregate, rows, {"n": "count"}, algorithm="dip")["depth"] == 2


def test_an_m_that_nobody_would_look_at_is_refused():
    with pytest.raises(tl.UsageError, match="m=3 is how many disjoint partitions are merged at once, which algorithm="):
        tl.temporal_join(LEFT, RIGHT, m=3)
    with pytest.raises(tl.UsageError, match="m=0 is no number of partitions"):
        tl.temporal_antijoin(LEFT, RIGHT, algorithm="dip", m=0)


@pytest.mark.parametrize(
    ("verb", "options", "words"),
    [
        (tl.join, {"on": "id"}, "keys were asked for"),
        (tl.join, {"algorithm": "sweep"}, "algorithm='sweep' was asked for"),
        (tl.join, {"where": "id < 3"}, "where= was asked for"),
        (tl.join, {"overlap": "length"}, "overlap='length' was asked for"),
        (tl.count_join, {"aggregates": {"most": ("id", "max")}}, "aggregates were asked for"),
        (tl.count_join, {}, "not few rows beside it"),
    ],
)
def test_a_plan_says_why_an_index_is_read_as_a_table(verb: Any, options: dict[str, Any], words: str) -> None:
    forest = tl.StabForest.build(LEFT["start"].to_numpy(), LEFT["end"].to_numpy())
    rows = RIGHT.select(["start", "end"]).append_column("id", pa.array(range(ROWS)))
    options = {"suffixes": ("", "_right"), **options} if verb is tl.join else options
    assert words in tl.explain(verb, rows, forest, **options).why[-1]
    assert not any("index" in told for told in tl.explain(tl.join, rows, rows, suffixes=("", "_b")).why)


def test_what_stands_above_the_verbs_is_known_by_name() -> None:
    plans = pa.table({"start": [1], "end": [3]})
    with pytest.raises(tl.UsageError, match="install runs in one way only"):
        tl.explain("install", None)
    for verb in ("sql", tl.sql):
        assert tl.explain(verb, "select count(*) from plans", plans=plans).verb == "sql"
