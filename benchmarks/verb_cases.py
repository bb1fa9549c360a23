"""A case for each verb beside the large ones: the call, and the SQL that people write in its stead.

The queries run on DuckDB and on Spark; where the two differ in a word, `DIALECTS` has both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import timeloom as tl

DIALECTS = {
    "DuckDB": {
        "div": "//",
        "cells": "unnest(generate_series({0}, {1}))",
        "months": "unnest(generate_series(date_trunc('month', {0}), {1} - interval 1 microsecond, interval 1 month))",
        "micros": "(epoch_us({1}) - epoch_us({0}))",
        "next_month": "({0} + interval 1 month)",
    },
    "Spark": {
        "div": "div",
        "cells": "explode(sequence({0}, {1}))",
        "months": "explode(sequence(date_trunc('month', {0}), {1} - interval 1 microsecond, interval 1 month))",
        "micros": "(unix_micros({1}) - unix_micros({0}))",
        "next_month": "({0} + interval 1 month)",
    },
}

PERIOD = ("s", "e")
WIDTH = 200


@dataclass(frozen=True)
class Case:
    """What is asked of tables t and u: a call, and a query whose columns are those of the call that are compared."""

    call: Callable[[Any, Any], Any]
    query: str
    compared: tuple[str, ...]
    data: str = "keyed"

    def sql(self, dialect: str) -> str:
        """The query as an engine reads it."""
        words = DIALECTS[dialect]
        text = self.query.replace("{div}", words["div"]).replace("{width}", str(WIDTH))
        for name in ("cells", "months", "micros", "next_month"):
            while (at := text.find(f"{name}[")) >= 0:
                stop = text.index("]", at)
                inner = text[at + len(name) + 1 : stop].split(" | ")
                text = text[:at] + words[name].format(*inner) + text[stop + 1 :]
        return text


def keyed(rows: int, seed: int) -> pa.Table:
    """Rows of a thousand keys, in no order: most of them short, with time between them and some overlaps."""
    draw = np.random.default_rng(seed)
    keys = draw.integers(0, 1000, rows)
    starts = draw.integers(0, rows * 20 // 1000 * 10, rows)
    lengths = draw.integers(1, 300, rows)
    return pa.table({"id": np.arange(rows), "key": keys, "s": starts, "e": starts + lengths, "v": keys % 7 + 1})


def dated(rows: int, seed: int) -> pa.Table:
    """The same rows in time: a tick is a quarter of an hour."""
    table, quarter = keyed(rows, seed), 900_000_000
    times = {name: pa.array(table[name].to_numpy() * quarter, pa.timestamp("us")) for name in PERIOD}
    return pa.table({**{name: table[name] for name in ("id", "key", "v")}, **times})


def digest(columns: Sequence[str], hashed: str) -> str:
    """What equal results have in common, as expressions: ``hashed`` makes a number of a text."""
    texts = [
        f"cast(round({name}, 9) as varchar(40))" if name == "mean" else f"cast({name} as varchar(40))"
        for name in columns
    ]
    return f"count(*), sum({hashed.format('concat_ws(chr(44), ' + ', '.join(texts) + ')')} % 1000003)"


DATA = {"keyed": keyed, "dated": dated}

_ISLANDS = """
    flagged as (select *, case when s <= max(e) over (partition by key order by s, e rows between unbounded preceding
                and 1 preceding){more} then 0 else 1 end as fresh from {source}),
    numbered as (select *, sum(fresh) over (partition by key order by s, e rows unbounded preceding) as island
                 from flagged),
    islands as (select key, min(s) as s, max(e) as e from numbered group by key, island)
"""


def islands(source: str, more: str = "") -> str:
    """Queries that end in the islands of each key: rows that follow closely enough become one."""
    return _ISLANDS.replace("{source}", source).replace("{more}", more)


def at_every_instant(kept: str) -> str:
    """The instants at which a condition on the rows of both tables changes, by key and value."""
    return f"""
        with events as (select key, v, s as p, 1 as a, 0 as b from t union all select key, v, e, -1, 0 from t
                        union all select key, v, s, 0, 1 from u union all select key, v, e, 0, -1 from u),
        changes as (select key, v, p, sum(a) as a, sum(b) as b from events group by key, v, p),
        states as (select key, v, p, sum(a) over w as a, sum(b) over w as b from changes
                   window w as (partition by key, v order by p rows unbounded preceding)),
        told as (select key, v, p, {kept} as holds,
                 lag({kept}, 1, false) over (partition by key, v order by p) as held from states),
        turns as (select key, v, p as s, holds, lead(p) over (partition by key, v order by p) as e from told
                  where holds <> held)
        select key, v, s, e from turns where holds
    """


def _values(table: Any) -> Any:
    return table.select(["key", "v", "s", "e"]) if isinstance(table, pa.Table) else table.select("key", "v", "s", "e")


CASES = {
    "coalesce, max_gap": Case(
        lambda t, u: tl.coalesce(t, by="key", max_gap=50, period=PERIOD),
        f"with {islands('t', ' + 50')} select key, s, e from islands",
        ("key", "s", "e"),
    ),
    "gaps": Case(
        lambda t, u: tl.gaps(t, by="key", period=PERIOD),
        """with reach as (select key, s, max(e) over (partition by key order by s, e rows between unbounded preceding
                          and 1 preceding) as before from t)
           select key, before as s, s as e from reach where before < s""",
        ("key", "s", "e"),
    ),
    "check, overlaps and gaps": Case(
        lambda t, u: tl.check(t, by="key", gaps=True, period=PERIOD),
        f"""with events as (select key, s as p, 1 as d from t union all select key, e, -1 from t),
            changes as (select key, p, sum(d) as d from events group by key, p),
            depths as (select key, p, sum(d) over (partition by key order by p rows unbounded preceding) as n
                       from changes),
            kinds as (select key, p, {(kind := "case when n = 0 then 'gap' when n > 1 then 'overlap' else '' end")}
                      as fault, lag({kind}, 1, '') over (partition by key order by p) as earlier from depths),
            turns as (select key, fault, p as start, lead(p) over (partition by key order by p) as finish
                      from kinds where fault <> earlier)
            select key, fault, start, finish from turns where fault <> '' and finish is not null""",
        ("key", "fault", "start", "end"),
    ),
    "split": Case(
        lambda t, u: tl.split(t, every=WIDTH, period=PERIOD),
        """with pieces as (select id, key, v, s, e, cells[s {div} {width} | (e - 1) {div} {width}] as cell from t)
           select id, key, greatest(s, cell * {width}) as s, least(e, (cell + 1) * {width}) as e, v from pieces""",
        ("id", "key", "s", "e", "v"),
    ),
    "aggregate every, count and time_avg": Case(
        lambda t, u: tl.temporal_aggregate(
            t, {"n": "count", "mean": ("v", "time_avg")}, every=WIDTH, by="key", period=PERIOD
        ),
        """with pieces as (select key, v, s, e, cells[s {div} {width} | (e - 1) {div} {width}] as cell from t),
           cut as (select key, v, cell, least(e, (cell + 1) * {width}) - greatest(s, cell * {width}) as w from pieces)
           select key, cell * {width} as s, (cell + 1) * {width} as e, count(*) as n,
                  cast(sum(v * w) as double) / sum(w) as mean from cut group by key, cell""",
        ("key", "s", "e", "n", "mean"),
    ),
    "aggregate every, covered": Case(
        lambda t, u: tl.temporal_aggregate(t, {"n": "count", "busy": "covered"}, every=WIDTH, by="key", period=PERIOD),
        """with pieces as (select key, s, e, cells[s {div} {width} | (e - 1) {div} {width}] as cell from t),
           cut as (select key, cell, greatest(s, cell * {width}) as s, least(e, (cell + 1) * {width}) as e from pieces),
           reach as (select *, max(e) over (partition by key, cell order by s, e rows between unbounded preceding
                     and 1 preceding) as before from cut)
           select key, cell * {width} as s, (cell + 1) * {width} as e, count(*) as n,
                  cast(sum(greatest(0, e - greatest(s, coalesce(before, s)))) as bigint) as busy
           from reach group by key, cell""",
        ("key", "s", "e", "n", "busy"),
    ),
    "aggregate every month": Case(
        lambda t, u: tl.temporal_aggregate(
            t, {"n": "count", "mean": ("v", "time_avg")}, every="1 month", by="key", period=PERIOD
        ),
        """with pieces as (select key, v, s, e, months[s | e] as cell from t),
           bounds as (select *, next_month[cell] as later from pieces),
           cut as (select key, v, cell, later, greatest(s, cell) as a, least(e, later) as b from bounds)
           select key, cell as s, later as e, count(*) as n,
                  cast(sum(v * micros[a | b]) as double) / cast(sum(micros[a | b]) as double) as mean
           from cut group by key, cell, later""",
        ("key", "s", "e", "n", "mean"),
        "dated",
    ),
    "temporal_union": Case(
        lambda t, u: tl.temporal_union(_values(t), _values(u), period=PERIOD),
        at_every_instant("a > 0 or b > 0"),
        ("key", "v", "s", "e"),
    ),
    "temporal_intersect": Case(
        lambda t, u: tl.temporal_intersect(_values(t), _values(u), period=PERIOD),
        at_every_instant("a > 0 and b > 0"),
        ("key", "v", "s", "e"),
    ),
    "temporal_except": Case(
        lambda t, u: tl.temporal_except(_values(t), _values(u), period=PERIOD),
        at_every_instant("a > 0 and b = 0"),
        ("key", "v", "s", "e"),
    ),
    "temporal_join, semi": Case(
        lambda t, u: tl.temporal_join(t, u, on="key", how="semi", period=PERIOD),
        f"""with {islands("u")}
            select t.id, t.key, greatest(t.s, i.s) as s, least(t.e, i.e) as e, t.v
            from t join islands i on t.key = i.key and t.s < i.e and i.s < t.e""",
        ("id", "key", "s", "e", "v"),
    ),
    "join, min_overlap, length": Case(
        lambda t, u: tl.join(
            t,
            u,
            on="key",
            min_overlap=100,
            overlap="length",
            period=PERIOD,
            columns=["id", "id_right", "overlap_length"],
        ),
        """select t.id, u.id as id_right, least(t.e, u.e) - greatest(t.s, u.s) as overlap_length
           from t join u on t.key = u.key and t.s < u.e and u.s < t.e
           where least(t.e, u.e) - greatest(t.s, u.s) >= 100""",
        ("id", "id_right", "overlap_length"),
    ),
    "join, max_gap": Case(
        lambda t, u: tl.join(t, u, on="key", max_gap=100, period=PERIOD, columns=["id", "id_right"]),
        """select t.id, u.id as id_right from t join u on t.key = u.key and t.s - 100 <= u.e and u.s <= t.e + 100""",
        ("id", "id_right"),
    ),
    "stab": Case(
        lambda t, u: tl.stab(t, at=5000, period=PERIOD),
        "select * from t where s <= 5000 and 5000 < e",
        ("id", "key", "s", "e", "v"),
    ),
    "stab, many instants": Case(
        lambda t, u: tl.stab(t, at=list(range(0, 200_000, 2000)), period=PERIOD),
        """select * from t
           where exists (select 1 from (select cells[0 | 99] as p) i where s <= p * 2000 and p * 2000 < e)""",
        ("id", "key", "s", "e", "v"),
    ),
    "top_k": Case(
        lambda t, u: tl.top_k(t, u, 100, ties="all", period=PERIOD),
        """with events as (select s as p, 1 as kind, 1 as begun, 0 as over, 0 as id, 0 as sign from u
                           union all select e, 0, 0, 1, 0, 0 from u
                           union all select e, 0, 0, 0, id, 1 from t union all select s, 1, 0, 0, id, -1 from t),
           running as (select id, sign, kind, sum(begun) over w as begun, sum(over) over w as over from events
                       window w as (order by p, kind, sign rows unbounded preceding)),
           counts as (select id, sum(case when sign = 1 then begun when sign = -1 then -over else 0 end) as n
                      from running where sign <> 0 group by id),
           ranked as (select id, n, rank() over (order by n desc) as place from counts)
           select id, n from ranked where place <= 100""",
        ("id", "count"),
    ),
}
