"""Small calls that need every kernel once, in the types that tables have."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

import timeloom as tl
from timeloom.model.aggregates import AGGREGATES, Aggregate
from timeloom.model.count_join import CountAlgorithm
from timeloom.model.join import How, JoinAlgorithm
from timeloom.model.sequenced import AggregateAlgorithm, AntijoinAlgorithm, SequencedAlgorithm, SequencedHow

Call = Callable[[], object]
RELATIONS = ("intersects", "during", "equals", "meets", "overlaps", "iseql.before")


def _table() -> pa.Table:
    """A few rows that overlap, share endpoints and end openly."""
    starts = np.arange(40, dtype=np.int64) * 3 % 37
    ends = pa.array([None if start == 36 else int(start + 1 + at % 9) for at, start in enumerate(starts)], pa.int64())
    return pa.table(
        {
            "start": starts,
            "end": ends,
            "key": [f"k{start % 3}" for start in starts],
            "whole": starts * 5,
            "real": starts / 4,
            "flag": starts % 2 == 0,
        }
    )


def calls() -> dict[str, Call]:
    """The calls by what they are of."""
    table = _table()
    found: dict[str, Call] = {}
    for part in (_joins, _sequenced, _counting, _indexes, _windows, _streams):
        found |= part(table)
    return found


def _joins(table: pa.Table) -> dict[str, Call]:
    def run(algorithm: Any, relation: str) -> None:
        for how, on in product(get_args(How), (None, "key")):
            with suppress(tl.UsageError):  # not every algorithm takes every relation
                tl.join(table, table, relation, algorithm=algorithm, how=how, on=on)

    chosen = product(get_args(JoinAlgorithm), RELATIONS)
    return {f"join, {relation} by {algorithm}": partial(run, algorithm, relation) for algorithm, relation in chosen}


def _sequenced(table: pa.Table) -> dict[str, Call]:
    found: dict[str, Call] = {}
    for algorithm, how in product(get_args(SequencedAlgorithm), get_args(SequencedHow)):
        found[f"temporal_join, {how} by {algorithm}"] = partial(
            tl.temporal_join, table, table, on="key", how=how, algorithm=algorithm
        )
    for algorithm in get_args(AntijoinAlgorithm):
        found[f"temporal_antijoin by {algorithm}"] = partial(tl.temporal_antijoin, table, table, algorithm=algorithm)
    for algorithm in get_args(AggregateAlgorithm):
        found[f"temporal_aggregate by {algorithm}"] = partial(
            tl.temporal_aggregate, table, _measures(), by="key", algorithm=algorithm
        )
    more: dict[str, Callable[..., object]] = {
        "coalesce": tl.coalesce,
        "gaps": tl.gaps,
        "depth": tl.depth,
        "stab": partial(tl.stab, at=[4, 5]),
        "split": partial(tl.split, at=[4, 9]),
        "lanes": partial(tl.lanes, by="key"),
        "check": partial(tl.check, by="key", gaps=True, duplicates=True),
    }
    pairs: dict[str, Callable[..., object]] = {
        "as_of": partial(tl.as_of, at="start", on="key", direction="nearest"),
        "nearest": partial(tl.nearest, k=2, on="key"),
        "temporal_union": tl.temporal_union,
        "temporal_intersect": tl.temporal_intersect,
        "temporal_except": tl.temporal_except,
    }
    found |= {name: partial(verb, table) for name, verb in more.items()}
    return found | {name: partial(verb, table, table) for name, verb in pairs.items()}


def _measures(wanted: Callable[[Aggregate], bool] = lambda record: True) -> dict[str, Any]:
    """Every wanted aggregate of every column that it takes."""
    columns = {"boolean": ("flag",), "summable": ("whole", "real"), "sortable": ("whole", "real", "key")}
    return {
        f"{record.name}_{column}": (column, record.name)
        for record in set(AGGREGATES.values())
        if wanted(record)
        for column in columns.get(record.takes, ("whole", "real"))
    }


def _counting(table: pa.Table) -> dict[str, Call]:
    found: dict[str, Call] = {}
    for relation in RELATIONS:
        found[f"count_join, {relation}"] = partial(tl.count_join, table, table, relation, on="key")
        found[f"top_k, {relation}"] = partial(tl.top_k, table, table, 3, relation)
    for algorithm in get_args(CountAlgorithm):
        found[f"count_join by {algorithm}"] = partial(tl.count_join, table, table, algorithm=algorithm)
    measures = _measures(lambda record: record.without_pairs)
    found["count_join, aggregates"] = partial(tl.count_join, table, table, aggregates=measures)
    return found


def _indexes(table: pa.Table) -> dict[str, Call]:
    def forest() -> None:
        starts = np.arange(200, dtype=np.int64)
        built = tl.StabForest.build(starts, starts + 5)
        handle = built.begin(200)
        built.extend(starts + 201, starts + 210)
        built.finish(handle, 300)
        built.stab(5), built.multi_stab([5, 9]), built.count(5), built.overlapping(5, 9)
        built.stab_many([9, 5]), built.overlapping_many([9, 5], [10, 6]), built.count_overlapping([9, 5], [10, 6])
        for variant in ("auto", "events", "index"):
            built.skip_join(built, variant=variant)
        with tempfile.TemporaryDirectory() as folder:
            built.save(Path(folder, "forest"))
            tl.StabForest.load(Path(folder, "forest")).forget(before=9)

    def partitions() -> None:
        starts = np.arange(50, dtype=np.int64)
        parts = tl.DisjointPartitions.build(starts, starts + 5)
        parts.join(parts), parts.antijoin(parts), parts.periods()

    return {"StabForest": forest, "DisjointPartitions": partitions}


def _windows(table: pa.Table) -> dict[str, Call]:
    bitemporal = table.drop_columns(["start", "end"]).slice(0, 20)
    rows = np.arange(bitemporal.num_rows, dtype=np.int64)
    times = {"sys_start": rows, "sys_end": rows + 6, "app_start": rows * 2, "app_end": rows * 2 + 9}
    for name, values in times.items():
        bitemporal = bitemporal.append_column(name, pa.array(values))
    slides: dict[str, Any] = {"sys": tl.Slide(2, 4, 1), "app": tl.Slide(2, 4, 1), "steps": 5}

    def index(retroactive: bool) -> None:
        built = tl.BitemporalIndex(bitemporal, retroactive=retroactive)
        first = slides if retroactive else slides | {"sys": tl.Slide(built.latest, 4, 1)}
        for step in built.windows(**first):
            step.valid()
        built.as_of(sys=5 if retroactive else built.latest, app=9)

    found: dict[str, Call] = {
        f"sliding_windows, {meaning}": partial(
            tl.sliding_windows,
            bitemporal,
            meaning=meaning,
            select=_measures(lambda record: record.reversible),
            **slides,
        )
        for meaning in ("snapshot", "visible", "began")
    }
    return found | {"BitemporalIndex": partial(index, False), "BitemporalIndex, retroactive": partial(index, True)}


def _streams(table: pa.Table) -> dict[str, Call]:
    from timeloom.streaming import StreamJoin

    events = pa.table({"id": [1, 2, 1, 2], "time": [1, 2, 5, 6], "event": ["start", "start", "end", "end"]})

    def run(relation: str) -> None:
        for how in ("inner", "left", "semi", "anti"):
            join = StreamJoin(relation, how=how)
            join.push(events, events, until=4)
            join.close()
        StreamJoin(relation, on="id").push(events, events, until=4)

    return {f"stream_join, {relation}": partial(run, relation) for relation in RELATIONS}
