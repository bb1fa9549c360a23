"""Laws that hold whatever the answer is, on tables too large for brute force: move, shuffle, swap, split, agree."""

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import timeloom as tl
from reference.relations import RELATIONS

Table = Any
FREE = [name for name in RELATIONS if not name.startswith("iseql")]
_HOWS = ("inner", "left", "right", "full")


def draw_table(rng: random.Random, number: str) -> Table:
    """Hundreds of rows: short and long, crowded and scattered, with keys."""
    noise = np.random.default_rng(rng.getrandbits(32))
    count, reach = rng.choice([0, 1, 50, 400]), rng.choice([40, 1_000, 10**6])
    starts = noise.integers(0, reach, count)
    lengths = np.where(noise.random(count) < 0.05, noise.integers(1, 2 * reach, count), noise.integers(1, 9, count))
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array(starts + lengths, pa.int64()),
            "key": pa.array(noise.integers(0, rng.choice([1, 3, 50]), count), pa.int64()),
            "value": pa.array(noise.integers(-50, 50, count), pa.int64()),
            number: pa.array(np.arange(count), pa.int64()),
        }
    )


def moved(table: Table, factor: int, offset: int) -> Table:
    """The same rows at other times."""
    for name in ("start", "end"):
        ticks = table[name].to_numpy() * factor + offset
        table = table.set_column(table.column_names.index(name), name, pa.array(ticks, pa.int64()))
    return table


def shuffled(rng: random.Random, table: Table) -> Table:
    """The same rows in another order, in two chunks."""
    order = np.random.default_rng(rng.getrandbits(32)).permutation(table.num_rows)
    table = table.take(pa.array(order, pa.int64()))
    return pa.concat_tables([table.slice(0, table.num_rows // 3), table.slice(table.num_rows // 3)])


def listed(table: Table, *names: str) -> list[tuple]:
    """Rows in an order of their own."""
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=repr)


Verb = Callable[[Table, Table], Table]


def two_table_verb(rng: random.Random) -> tuple[str, Verb, tuple[str, ...]]:
    """A random verb of two tables, as a name, a function, and the columns that tell its answer but for the time."""
    relation, how = rng.choice(FREE), rng.choice(_HOWS)
    on = rng.choice([None, "key"])
    known: dict[str, tuple[Verb, tuple[str, ...]]] = {
        f"join {relation} {how}": (lambda a, b: tl.join(a, b, relation, how=how, on=on), ("i", "j")),
        f"join {relation} semi": (lambda a, b: tl.join(a, b, relation, how="semi", on=on), ("i",)),
        f"join {relation} anti": (lambda a, b: tl.join(a, b, relation, how="anti", on=on), ("i",)),
        f"temporal_join {how}": (lambda a, b: tl.temporal_join(a, b, how=how, on=on), ("i", "j", "start", "end")),
        "temporal_antijoin": (lambda a, b: tl.temporal_antijoin(a, b, on=on), ("i", "start", "end")),
        f"count_join {relation}": (_counted(relation, on), ("i", "count", "total", "least")),
    }
    name = rng.choice(list(known))
    return f"{name} on={on}", *known[name]


def _counted(relation: str, on: str | None) -> Verb:
    measures = {"total": ("value", "sum"), "least": ("value", "min")}
    return lambda a, b: tl.count_join(a, b, relation, on=on, aggregates=measures)


def one_table_verb(rng: random.Random) -> tuple[str, Verb, tuple[str, ...]]:
    """A random verb of one table; the other table is not looked at."""
    by = rng.choice([None, "key"])
    names = (*([by] if by else []), "start", "end")
    measures = {"n": "count", "total": ("value", "sum"), "top": ("value", "max"), "mean": ("value", "avg")}
    known: dict[str, tuple[Verb, tuple[str, ...]]] = {
        "coalesce": (lambda a, _: tl.coalesce(a, by=by or []), names),
        "gaps": (lambda a, _: tl.gaps(a, by=by), names),
        "depth": (lambda a, _: tl.depth(a, by=by), (*names, "depth")),
        "temporal_aggregate": (lambda a, _: tl.temporal_aggregate(a, measures, by=by), (*names, *measures)),
    }
    name = rng.choice(list(known))
    return f"{name} by={by}", *known[name]


def check_moved(rng: random.Random, left: Table, right: Table) -> str:
    """Shift and scale: the same rows meet, at times that are shifted and scaled."""
    name, verb, columns = rng.choice([two_table_verb, one_table_verb])(rng)
    factor, offset = rng.choice([(1, 10**12), (1, -(10**9)), (7, 0), (3, -5)])
    answer = verb(left, right)
    expected = moved_back = None
    if {"start", "end"} <= set(columns):
        expected = listed(moved(answer, factor, offset), *columns)
    moved_back = listed(verb(moved(left, factor, offset), moved(right, factor, offset)), *columns)
    assert moved_back == (expected if expected is not None else listed(answer, *columns)), name
    return f"moved {name}"


def check_shuffled(rng: random.Random, left: Table, right: Table) -> str:
    """The order of rows and the cut into chunks do not matter."""
    name, verb, columns = rng.choice([two_table_verb, one_table_verb])(rng)
    answer = listed(verb(left, right), *columns)
    assert listed(verb(shuffled(rng, left), shuffled(rng, right)), *columns) == answer, name
    return f"shuffled {name}"


def check_swapped(rng: random.Random, left: Table, right: Table) -> str:
    """The sides exchanged, with the inverse relation and the other outer join, give the same pairs."""
    relation, how, on = rng.choice(list(RELATIONS)), rng.choice(_HOWS), rng.choice([None, "key"])
    other = {"left": "right", "right": "left"}.get(how, how)
    pairs = listed(tl.join(left, right, relation, how=how, on=on), "i", "j")
    assert listed(tl.join(right, left, ~tl.relation(relation), how=other, on=on), "i", "j") == pairs, relation
    return "swapped join"


def check_split(rng: random.Random, left: Table, right: Table) -> str:
    """A left table in two halves gives the answers of the whole, where left rows are judged one by one."""
    name, verb, columns = two_table_verb(rng)
    if any(how in name for how in ("right", "full")):
        return "split nothing"
    cut = left.num_rows // 2
    halves = listed(verb(left.slice(0, cut), right), *columns) + listed(verb(left.slice(cut), right), *columns)
    assert sorted(halves, key=repr) == listed(verb(left, right), *columns), name
    return f"split {name}"


def check_agreed(rng: random.Random, left: Table, right: Table) -> str:
    """All algorithms of a verb find the same."""
    relation, on = rng.choice(list(RELATIONS)), rng.choice([None, "key"])
    pairs = listed(tl.join(left, right, relation, on=on), "i", "j")
    algorithm = rng.choice(["forward_scan", "sweep", "range_tree", *(["skip"] if relation == "intersects" else [])])
    assert listed(tl.join(left, right, relation, on=on, algorithm=algorithm), "i", "j") == pairs, (relation, algorithm)
    counts = Counter(i for i, _ in pairs)
    counted = tl.count_join(left, right, relation, on=on)
    assert dict(listed(counted, "i", "count")) == {i: counts[i] for i in range(left.num_rows)}, relation
    return "agreed join"


LAWS: tuple[Callable[..., str], ...] = (check_moved, check_shuffled, check_swapped, check_split, check_agreed)


def run(seed: int, seconds: float) -> Counter[str]:
    """Try laws on random tables for some seconds; raise with the seed of the first that fails."""
    stop, told, at = time.monotonic() + seconds, Counter[str](), 0
    while time.monotonic() < stop:
        rng = random.Random(f"{seed}/{at}")
        law = rng.choice(LAWS)
        left, right = draw_table(rng, "i"), draw_table(rng, "j")
        try:
            told[law(rng, left, right).split()[0]] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, case {at}: {law.__name__}: {error!r}"[:4000]) from error
        at += 1
    return told


def again(seed: int, at: int) -> Any:
    """Try one case again."""
    rng = random.Random(f"{seed}/{at}")
    law = rng.choice(LAWS)
    return law(rng, draw_table(rng, "i"), draw_table(rng, "j"))
