"""Every verb as a random call: how it is drawn, how it is made, and what it must answer by brute force."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

import timeloom as tl
from fuzz import expected
from fuzz.tables import END_SHIFT, FOREVER, START_SHIFT, Side, canonical, draw_pair
from reference import counting
from reference.relations import PARAMETERS, RELATIONS

HOWS = ("inner", "left", "right", "full", "semi", "anti")
FUNCTIONS = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class Call:
    """One call: its verb, tables and options."""

    verb: str
    left: Side
    right: Side
    options: tuple[tuple[str, Any], ...]
    policy: tuple[str, str | None]

    def __getitem__(self, option: str) -> Any:
        return dict(self.options)[option]


class RefusedError(Exception):
    """What a call must be answered with if a row is not fit to take part."""


@dataclass(frozen=True)
class Fit:
    """The rows of a side that take part, with positions, half-open ticks and keys; how many are handed out beside."""

    at: list[int]
    spans: list[tuple[int, int]]
    keys: list[Any]
    values: list[Any]
    rejected: int


def fit(side: Side, policy: tuple[str, str | None]) -> Fit:
    """Judge the rows as the policy says."""
    on_invalid, empty = policy
    fate = {"valid": "keep", "invalid": on_invalid, "empty": empty or on_invalid}
    at, spans, rejected = [], [], 0
    for number, (verdict, (start, end)) in enumerate(zip(side.verdicts(), side.spans(), strict=True)):
        if fate[verdict] == "error":
            raise RefusedError
        if fate[verdict] in ("drop", "quarantine"):
            rejected += fate[verdict] == "quarantine"
            continue
        at.append(number)
        spans.append((start, start + 1 if fate[verdict] == "point" else end))
    rows = [side.rows[number] for number in at]
    return Fit(at, spans, [canonical(row.key) for row in rows], [row.value for row in rows], rejected)


def ticks(column: pa.ChunkedArray, shift: int, side: Side) -> list[int | None]:
    """A result's period column as half-open ticks; null or the sentinel is an open end."""
    kind = column.type
    if pa.types.is_date(kind):
        raw = column.cast(pa.date32()).cast(pa.int32()).to_pylist()
    elif pa.types.is_timestamp(kind):
        raw = [None if n is None else _microseconds(n, kind.unit) for n in column.cast(pa.int64()).to_pylist()]
    else:
        raw = column.to_pylist()
    far = side.base + side.far * side.step if side.sentinel else None
    return [FOREVER if n is None or n == far else n + shift for n in raw]


def _microseconds(number: int, unit: str) -> int:
    exact = Fraction(number) * {"s": 10**6, "ms": 10**3, "us": 1, "ns": Fraction(1, 1000)}[unit]
    assert exact.denominator == 1
    return int(exact)


def periods(result: pa.Table, side: Side, names: tuple[str, str] = ("start", "end")) -> list[tuple[int, int]]:
    """The periods of a result, which are written as the left side writes them."""
    starts = ticks(result[names[0]], START_SHIFT[side.closed], side)
    return list(zip(starts, ticks(result[names[1]], END_SHIFT[side.closed], side), strict=True))


def rows(result: pa.Table, *names: str) -> list[tuple]:
    return list(zip(*(result[name].to_pylist() for name in names), strict=True))


def draw(rng: random.Random, verb: str | None = None) -> Call:
    """A random call."""
    verb = verb or rng.choice(list(VERBS))
    left, right = draw_pair(rng)
    policy = rng.choice(["error", "drop", "quarantine"]), rng.choice([None, None, "error", "drop", "point"])
    return Call(verb, left, right, tuple(VERBS[verb][0](rng, left).items()), policy)


def relation_options(rng: random.Random, side: Side) -> dict[str, Any]:
    name = rng.choice(list(RELATIONS))
    limits = {limit: rng.choice([None, 0, 1, 3, 5]) for limit in PARAMETERS.get(name, ())}
    scaled = {limit: None if value is None else value * side.step for limit, value in limits.items()}
    return {"relation": name, "limits": tuple(scaled.items()), "keyed": rng.random() < 0.5}


def join_options(rng: random.Random, side: Side) -> dict[str, Any]:
    algorithm = rng.choice(["auto", "auto", "forward_scan", "sweep", "range_tree"])
    how, batches = rng.choice(HOWS), rng.random() < 0.2
    overlap = how not in ("semi", "anti") and rng.random() < 0.4
    return {**relation_options(rng, side), "how": how, "algorithm": algorithm, "overlap": overlap, "batches": batches}


def sequenced_options(rng: random.Random, side: Side) -> dict[str, Any]:
    algorithm = rng.choice(["auto", "forward_scan", "sweep", "dip"])
    return {"keyed": rng.random() < 0.5, "how": rng.choice(HOWS[:4]), "algorithm": algorithm}


def antijoin_options(rng: random.Random, side: Side) -> dict[str, Any]:
    return {"keyed": rng.random() < 0.5, "algorithm": rng.choice(["auto", "cover", "dip"])}


def grouped_options(rng: random.Random, side: Side) -> dict[str, Any]:
    return {"keyed": rng.random() < 0.5, "function": rng.choice(FUNCTIONS), "algorithm": rng.choice(["auto", "dip"])}


def gaps_options(rng: random.Random, side: Side) -> dict[str, Any]:
    within = None if rng.random() < 0.5 else (rng.randint(0, 4), rng.choice([6, 9, 13, None]))
    return {"keyed": rng.random() < 0.5, "within": within}


def stab_options(rng: random.Random, side: Side) -> dict[str, Any]:
    return {"at": tuple(rng.randint(0, 12) for _ in range(rng.randint(1, 3)))}


def count_options(rng: random.Random, side: Side) -> dict[str, Any]:
    return {**relation_options(rng, side), "function": rng.choice(FUNCTIONS)}


def top_options(rng: random.Random, side: Side) -> dict[str, Any]:
    return {
        **relation_options(rng, side),
        "k": rng.randint(1, 4),
        "ties": rng.choice(["first", "all"]),
        "by": rng.random() < 0.4,
    }


def two_tables(call: Call) -> dict[str, Any]:
    common = {
        "left_period": call.left.period,
        "right_period": call.right.period,
        "on": "key" if call["keyed"] else None,
    }
    return common | _policy(call)


def one_table(call: Call) -> dict[str, Any]:
    return {"period": call.left.period, "by": "key" if call["keyed"] else None} | _policy(call)


def _policy(call: Call) -> dict[str, Any]:
    return dict(zip(("on_invalid", "empty"), call.policy, strict=True))


def numbers(found: list[tuple], left: Fit, right: Fit) -> list[tuple]:
    """Positions among the rows that take part, as positions in the tables."""
    sides = (left.at, right.at)
    return [
        tuple(None if at is None else side[at] for at, side in zip(row, sides, strict=False)) + row[2:] for row in found
    ]


def join(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    options = {**two_tables(call), **dict(call["limits"]), "how": call["how"], "algorithm": call["algorithm"]}
    if call["batches"]:
        batches = list(
            table_call(call, "join", call["relation"], **options, overlap=call["overlap"], batches=True, batch_rows=2)
        )
        assert all(batch.num_rows <= 2 for batch in batches), "a batch is larger than asked for"
        result = pa.Table.from_batches(batches) if batches else None
    else:
        result = table_call(call, "join", call["relation"], **options, overlap=call["overlap"])
    keys = expected.fits(left.keys, right.keys, call["keyed"])
    predicate = RELATIONS[call["relation"]]
    wanted = expected.join(left.spans, right.spans, predicate, call["how"], keys, dict(call["limits"]))
    if call["how"] in ("semi", "anti"):
        return [] if result is None else rows(result, "i"), [(left.at[i],) for (i,) in wanted]
    found = [] if result is None else rows(result, "i", "j")
    if not call["overlap"]:
        return found, numbers(wanted, left, right)
    shared = [] if result is None else _overlaps(result, call.left)
    wanted = [(i, j, _shared(left, right, i, j)) for i, j in wanted]
    return [(*pair, span) for pair, span in zip(found, shared, strict=True)], numbers(wanted, left, right)


def _overlaps(result: pa.Table, side: Side) -> list[tuple[int, int] | None]:
    absent = result["overlap_start"].is_null().to_pylist()
    spans = periods(result, side, ("overlap_start", "overlap_end"))
    return [None if none else span for none, span in zip(absent, spans, strict=True)]


def _shared(left: Fit, right: Fit, i: int | None, j: int | None) -> tuple[int, int] | None:
    if i is None or j is None:
        return None
    start, end = max(left.spans[i][0], right.spans[j][0]), min(left.spans[i][1], right.spans[j][1])
    return (start, end) if start < end else None


def temporal_join(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    result = table_call(call, "temporal_join", **two_tables(call), how=call["how"], algorithm=call["algorithm"])
    keys = expected.fits(left.keys, right.keys, call["keyed"])
    wanted = expected.temporal_join(left.spans, right.spans, call["how"], keys)
    found = [(*pair, *span) for pair, span in zip(rows(result, "i", "j"), periods(result, call.left), strict=True)]
    return found, numbers(wanted, left, right)


def temporal_antijoin(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    result = table_call(call, "temporal_antijoin", **two_tables(call), algorithm=call["algorithm"])
    wanted = expected.temporal_antijoin(left.spans, right.spans, expected.fits(left.keys, right.keys, call["keyed"]))
    found = [(*number, *span) for number, span in zip(rows(result, "i"), periods(result, call.left), strict=True)]
    return found, [(left.at[i], start, end) for i, start, end in wanted]


def count_join(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    measure = {"measure": ("value", call["function"])} if _can(call.right, call["function"]) else None
    options = {**two_tables(call), **dict(call["limits"]), "aggregates": measure}
    result = table_call(call, "count_join", call["relation"], **options)
    met = _partners(call, left, right)
    if measure is None:
        return rows(result, "i", "count"), [(left.at[i], len(partners)) for i, partners in enumerate(met)]
    wanted = [
        (left.at[i], len(partners), expected.aggregate(call["function"], [right.values[j] for j in partners]))
        for i, partners in enumerate(met)
    ]
    return rows(result, "i", "count", "measure"), wanted


def top_k(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    options = {**two_tables(call), **dict(call["limits"]), "ties": call["ties"], "by": "key" if call["by"] else None}
    result = table_call(call, "top_k", call["k"], call["relation"], **options)
    counts = [len(partners) for partners in _partners(call, left, right)]
    groups = left.keys if call["by"] else [None] * len(left.at)
    chosen = counting.top_k(counts, groups, call["k"], call["ties"])
    return rows(result, "i", "count"), [(left.at[i], counts[i]) for i in chosen]


def _partners(call: Call, left: Fit, right: Fit) -> list[list[int]]:
    keys, predicate = expected.fits(left.keys, right.keys, call["keyed"]), RELATIONS[call["relation"]]
    limits = {"delta": None, "epsilon": None} | dict(call["limits"])
    return [
        [j for j, s in enumerate(right.spans) if keys(i, j) and predicate(r, s, **limits)]
        for i, r in enumerate(left.spans)
    ]


def _can(side: Side, function: str) -> bool:
    return function in ("count", "min", "max") or side.value_kind != "text"


def coalesce(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    options = one_table(call)
    result = table_call(call, "coalesce", **{**options, "by": options["by"] or []})
    return _by_group(call, left, result, expected.coalesce)


def gaps(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    steps = call["within"]
    side = call.left
    within = window = None
    if steps is not None:
        within = tuple(None if step is None else side._column([step])[0].as_py() for step in steps)
        low, high = (None if step is None else side.base + step * side.step for step in steps)
        window = low + START_SHIFT[side.closed], FOREVER if high is None else high + END_SHIFT[side.closed]
        if window[0] >= window[1]:
            raise RefusedError
    result = table_call(call, "gaps", **one_table(call), within=within)
    if not call["keyed"] and not left.at and window:
        return _by_group(call, replace(left, at=[]), result, None)[0], [(None, *window)]
    return _by_group(call, left, result, lambda spans: expected.gaps(spans, window))


def depth(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    result = table_call(call, "depth", **one_table(call))
    wanted = [
        (key if call["keyed"] else None, start, end, len(active))
        for key, at in _groups(call, left).items()
        for start, end, active in expected.lineage([left.spans[i] for i in at])
    ]
    return _with_periods(call, result, "depth"), wanted


def temporal_aggregate(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    function = call["function"] if _can(call.left, call["function"]) else "count"
    aggregates = {"n": "count", "measure": ("value", function)}
    result = table_call(call, "temporal_aggregate", aggregates, **one_table(call), algorithm=call["algorithm"])
    wanted = [
        (
            key if call["keyed"] else None,
            start,
            end,
            len(active),
            expected.aggregate(function, [left.values[at[i]] for i in active]),
        )
        for key, at in _groups(call, left).items()
        for start, end, active in expected.lineage([left.spans[i] for i in at])
    ]
    return _with_periods(call, result, "n", "measure"), wanted


def stab(call: Call, left: Fit, right: Fit) -> tuple[Any, Any]:
    side = call.left
    at = [side._column([step])[0].as_py() for step in call["at"]]
    result = table_call(call, "stab", at[0] if len(at) == 1 else at, period=side.period, **_policy(call))
    instants = [side.base + step * side.step for step in call["at"]]
    wanted = [(left.at[i],) for i, (start, end) in enumerate(left.spans) if any(start <= t < end for t in instants)]
    return rows(result, "i"), wanted


def _groups(call: Call, left: Fit) -> dict[Any, list[int]]:
    return expected.by_group(left.keys if call["keyed"] else [None] * len(left.at), left.spans)


def _by_group(call: Call, left: Fit, result: pa.Table, answer: Callable[..., Any] | None) -> tuple[Any, Any]:
    wanted = [
        (key, *span)
        for key, at in (_groups(call, left).items() if answer else ())
        for span in answer([left.spans[i] for i in at])
    ]
    return _with_periods(call, result), wanted


def _with_periods(call: Call, result: pa.Table, *names: str) -> list[tuple]:
    keys = [canonical(key) for key in result["key"].to_pylist()] if call["keyed"] else [None] * result.num_rows
    measured = rows(result, *names) if names else [()] * result.num_rows
    return [(key, *span, *others) for key, span, others in zip(keys, periods(result, call.left), measured, strict=True)]


Drawn = Callable[[random.Random, Side], dict[str, Any]]
Checked = Callable[[Call, Fit, Fit], tuple[Any, Any]]
VERBS: dict[str, tuple[Drawn, Checked]] = {
    "join": (join_options, join),
    "temporal_join": (sequenced_options, temporal_join),
    "temporal_antijoin": (antijoin_options, temporal_antijoin),
    "temporal_aggregate": (grouped_options, temporal_aggregate),
    "count_join": (count_options, count_join),
    "top_k": (top_options, top_k),
    "coalesce": (grouped_options, coalesce),
    "gaps": (gaps_options, gaps),
    "depth": (grouped_options, depth),
    "stab": (stab_options, stab),
}
TWO_TABLES = ("join", "temporal_join", "temporal_antijoin", "count_join", "top_k")


def table_call(call: Call, verb: str, *args: Any, **options: Any) -> Any:
    tables = [call.left.table("i")]
    if verb in TWO_TABLES:
        tables.append(call.right.table("j"))
    answer = getattr(tl, verb)(*tables, *args, **options)
    if call.policy[0] == "quarantine":
        sides = [call.left, call.right][: len(tables)]
        refused = sum(fit(side, call.policy).rejected for side in sides)
        assert answer.rejected.num_rows == refused, f"{answer.rejected.num_rows} rejected rows, expected {refused}"
        return answer.result
    return answer
