"""Random SQL texts: answers equal DuckDB or brute force, every clause counts, and only our errors are raised."""

import random
import time
from decimal import Decimal

import duckdb
import pyarrow as pa

import timeloom as tl
from reference.bitemporal import slide_query

FOREVER = 1000
RELATIONS = {
    "intersects": "{r}.start < {s}.end and {s}.start < {r}.end",
    "during": "{s}.start < {r}.start and {r}.end < {s}.end",
    "before": "{r}.end < {s}.start",
    "meets": "{r}.end = {s}.start",
    "equals": "{r}.start = {s}.start and {r}.end = {s}.end",
    "overlaps": "{r}.start < {s}.start and {s}.start < {r}.end and {r}.end < {s}.end",
    "contains": "{r}.start < {s}.start and {s}.end < {r}.end",
    "starts": "{r}.start = {s}.start and {r}.end < {s}.end",
    "finished_by": "{r}.start < {s}.start and {r}.end = {s}.end",
    "after": "{s}.end < {r}.start",
    "precedes": "{r}.end <= {s}.start",
    "immediately succeeds": "{s}.end = {r}.start",
    "iseql.before(delta 2)": "{r}.end <= {s}.start and {s}.start - {r}.end <= 2",
    "meets | met_by": "{r}.end = {s}.start or {s}.end = {r}.start",
}
NOISE = [
    "(",
    ")",
    "[",
    "]",
    ",",
    "'",
    '"',
    ";",
    "--",
    "/*",
    "*/",
    " ",
    "\n",
    "\t",
    "²",
    "é",
    "\x00",
    "0",
    "1e9",
    ".",
    "*",
]
NOISE += ["select", "from", "group by", "rollup", "distinct", "on", "over", "null", "end", "period", "limit", "percent"]


def run(seed: int, seconds: float) -> int:
    """Draw and check texts for some time; returns how many. A failure names its seed and its text."""
    started, count = time.monotonic(), 0
    while time.monotonic() - started < seconds:
        draw = random.Random(f"{seed}-{count}")
        check = draw.choice([_ordinary, _joined, _joined, _windowed, _versions, _by_period, _coalesced])
        try:
            text, tables, plain = check(draw)
            _every_clause_counts(text, tables)
            _only_our_errors(draw, _written(text), tables)
        except AssertionError as failure:
            raise AssertionError(f"seed {seed}, text {count}: {failure}") from failure
        count += 1 + plain
    return count


def _written(parts):
    return " ".join(text for text in parts.values() if text)


def _table(draw, rows=None, *, ends=False):
    """A tiny table with ties, nulls and periods."""
    count = draw.randrange(7) if rows is None else rows
    starts = [draw.randrange(6) for _ in range(count)]
    return pa.table(
        {
            "k": pa.array([draw.choice([None, 1, 2]) for _ in starts], pa.int64()),
            "v": pa.array([draw.choice([None, -1, 0, 2, 5]) for _ in starts], pa.int64()),
            "s": pa.array([draw.choice([None, "a", "ab", "B"]) for _ in starts], pa.string()),
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([_end(draw, start, open_ends=ends) for start in starts], pa.int64()),
        }
    )


def _end(draw, start, *, open_ends):
    return None if open_ends and draw.randrange(5) == 0 else start + draw.randrange(1, 5)


def _number(draw, depth=2):
    if depth == 0 or not draw.randrange(3):
        return draw.choice(["k", "v", "t.v", "0", "1", "3", "start"])
    inner = lambda: _number(draw, depth - 1)  # noqa: E731
    return draw.choice(
        [
            lambda: f"({inner()} {draw.choice('+-*')} {inner()})",
            lambda: f"-({inner()})",
            lambda: f"abs({inner()})",
            lambda: f"coalesce({inner()}, {inner()})",
            lambda: f"case when {_condition(draw, depth - 1)} then {inner()} else {inner()} end",
            lambda: "length(s)",
        ]
    )()


def _condition(draw, depth=2):
    if depth <= 0:
        return draw.choice(["k = 1", "v > 0", "s is null", "s like 'a%'"])
    inner = lambda: _condition(draw, depth - 1)  # noqa: E731
    return draw.choice(
        [
            lambda: f"{_number(draw, depth - 1)} {draw.choice(['=', '<>', '<', '<=', '>', '>='])} {_number(draw, 1)}",
            lambda: f"({inner()} {draw.choice(['and', 'or'])} {inner()})",
            lambda: f"not ({inner()})",
            lambda: f"{_number(draw, 1)} is {draw.choice(['', 'not '])}null",
            lambda: f"{_number(draw, 1)} between {_number(draw, 1)} and {_number(draw, 1)}",
            lambda: f"{_number(draw, 1)} in ({_number(draw, 1)}, 2)",
            lambda: f"upper(s) = '{draw.choice(['A', 'AB'])}'",
        ]
    )()


def _aggregate(draw):
    return draw.choice(
        [
            "count(*)",
            "count(v)",
            "sum(v)",
            f"min({_number(draw, 1)})",
            "max(s)",
            "count(distinct v)",
            "sum(k) + count(*)",
        ]
    )


def _ordinary(draw):
    """A query over one table, in any combination of clauses."""
    grouped = draw.randrange(2)
    keys = draw.sample(["k", "s", "v % 2"], draw.randrange(3)) if grouped else []
    items = [f"{key} as c{at}" for at, key in enumerate(keys)]
    items += [
        f"{_aggregate(draw) if grouped else _number(draw)} as d{at}"
        for at in range(draw.randrange(0 if items else 1, 3))
    ]
    names = [item.rpartition(" ")[2] for item in items]
    ordered = draw.randrange(2)
    limited = ordered and draw.randrange(2)
    parts = {
        "select": "select",
        "distinct": "distinct" if draw.randrange(3) == 0 else "",
        "items": ", ".join(items),
        "from": "from t",
        "where": f"where {_condition(draw)}" if draw.randrange(2) else "",
        "group": f"group by {', '.join(keys)}" if keys else "",
        "having": f"having {_aggregate(draw)} is not null" if grouped and draw.randrange(2) else "",
        "order": "order by " + ", ".join(f"{n} {draw.choice(['desc ', ''])}nulls first" for n in names)
        if ordered
        else "",
        "limit": f"limit {draw.randrange(4)}" if limited else "",
        "offset": f"offset {draw.randrange(1, 3)}" if limited and draw.randrange(2) else "",
    }
    table = _table(draw)
    text = _written(parts)
    _equal(tl.sql(text, t=table), _duckdb(text, t=table), text, in_order=bool(ordered))
    return parts, {"t": table}, 1


def _joined(draw):
    """Tables joined by relations, keys and other conditions, against the comparisons that they stand for."""
    relation, kind = draw.choice(list(RELATIONS)), draw.choice(["", "left ", "right ", "full ", "semi ", "anti "])
    keyed, other = (
        draw.randrange(3),
        draw.choice(["", "", "and a.v < b.v", "and b.v > 0", "and (a.v is null or b.k = 1)"]),
    )
    one_sided = kind in ("semi ", "anti ")
    select = "select a.k as l, a.v as x, a.start as p"
    select += "" if one_sided else ", b.k as r, b.v as y, b.start as q"
    both = keyed and not one_sided and draw.randrange(2)
    conditions = ["", "where a.k is null", "where a.v > 0"]
    conditions += [] if one_sided else ["where b.k is null", "where a.s = b.s", "where a.period before b.period"]
    third = draw.randrange(3) == 0 and kind == ""
    parts = {
        "select": select + (", k as both" if both else "") + (", c.v as z" if third else ""),
        "from": f"from t a {kind}join u b on a.period {relation} b.period",
        "key": "and a.k = b.k" if keyed else "",
        "other": other,
        "third": "left join t c on b.period intersects c.period and c.k = b.k" if third else "",
        "where": draw.choice(conditions),
    }
    tables = {"t": _table(draw, ends=True), "u": _table(draw, ends=True)}
    text = _nested(draw, _written(parts))
    plain = text.replace(", k as both", ", coalesce(a.k, b.k) as both")
    for pair in (("a", relation, "b"), ("b", "intersects", "c"), ("a", "before", "b")):
        plain = plain.replace(f"{pair[0]}.period {pair[1]} {pair[2]}.period", f"({_plain_relation(*pair)})")
    _equal(tl.sql(text, **tables), _duckdb(plain, **tables), text, in_order=False)
    return parts, tables, 1


def _plain_relation(left, relation, right):
    ends = {f"{alias}.end": f"coalesce({alias}.end, {FOREVER})" for alias in (left, right)}
    words = RELATIONS[relation].format(r=left, s=right)
    for end, known in ends.items():
        words = words.replace(end, known)
    return f"case when {left}.start is not null and {right}.start is not null then {words} end"


def _nested(draw, text):
    """The same rows by way of a subquery, a definition or a union."""
    return draw.choice(
        [
            text,
            f"select * from ({text}) q",
            f"with q as ({text}) select * from q",
            f"{text} union all {text}",
            f"with q as ({text}) select * from q where exists (select 1 from q)",
        ]
    )


def _versions(draw):
    """Tables as of some time, against the filter that it stands for."""
    first, last = draw.randrange(8), draw.randrange(8)
    name = draw.choice(["VALID_TIME", "APPLICATION_TIME", "SYSTEM_TIME"])
    kinds = {
        f"as of {first}": f"start <= {first} and ({first} < t.end or t.end is null)",
        f"from {first} to {last}": f"{first} < {last} and start < {last} and ({first} < t.end or t.end is null)",
        f"between {first} and {last}": f"{first} <= {last} and start <= {last} and ({first} < t.end or t.end is null)",
    }
    words = draw.choice(list(kinds))
    parts = {"select": "select k, v, start", "from": "from t", "for": f"for {name} {words}", "where": "where v > 0"}
    tables = {"t": _table(draw, ends=True)}
    text = _nested(draw, _written(parts))
    plain = text.replace(f" for {name} {words} where", f" where {kinds[words]} and")
    _equal(tl.sql(text, **tables), _duckdb(plain, **tables), text, in_order=False)
    return parts, tables, 1


def _by_period(draw):
    """Aggregates over time, instant by instant."""
    keys = draw.sample(["k", "s"], draw.randrange(3))
    aggregates = draw.sample(["count(*)", "sum(v)", "max(v + 1)", "count(distinct k)"], draw.randrange(1, 3))
    named = [f"{aggregate} as d{at}" for at, aggregate in enumerate(aggregates)]
    having = draw.choice(["", "having count(*) > 1"])
    parts = {
        "select": f"select {', '.join([*keys, *named])}",
        "from": "from t",
        "where": draw.choice(["", "where v is not null"]),
        "group": f"group by {', '.join(draw.sample(['period', *keys], len(keys) + 1))}",
        "having": having,
    }
    tables = {"t": _table(draw)}
    text = _written(parts)
    found = tl.sql(text, **tables)
    instants = f"from t, range(12) as i(tick) {parts['where'] or 'where true'} and tick >= start and tick < t.end"
    plain = f"{parts['select']}, tick {instants} group by {', '.join(['tick', *keys])} {having}"
    names = [*keys, *(f"d{at}" for at in range(len(aggregates)))]
    rows = [{name: row[name] for name in names} | {"at": at} for row in found.to_pylist() for at in _instants(row)]
    _equal(pa.Table.from_pylist(rows), _duckdb(plain, **tables), text, in_order=False)
    return parts, tables, 1


def _coalesced(draw):
    """Coalesced periods: the same instants, and no two periods of equal values that touch."""
    parts = {"select": "select coalesce periods", "items": "k, s", "from": "from t", "where": "where v is not null"}
    tables = {"t": _table(draw)}
    text = _written(parts)
    rows = tl.sql(text, **tables).to_pylist()
    found = [{"k": row["k"], "s": row["s"], "at": at} for row in rows for at in _instants(row)]
    plain = (
        "select distinct k, s, tick from t, range(12) as i(tick) where v is not null and tick >= start and tick < t.end"
    )
    _equal(pa.Table.from_pylist(found), _duckdb(plain, **tables), text, in_order=False)
    assert not [1 for a in rows for b in rows if a["end"] == b["start"] and (a["k"], a["s"]) == (b["k"], b["s"])], text
    del parts["items"]
    parts["select"] += " k, s"
    return parts, tables, 1


def _instants(row):
    return range(row["start"], row["end"])


def _windowed(draw):
    """Windows over two times, against brute force."""
    rows, values = [], []
    for _ in range(draw.randrange(7)):
        app, sys = draw.randrange(8), draw.randrange(8)
        rows.append((app, app + draw.randrange(4), sys, draw.choice([None, sys + draw.randrange(4)])))
        values.append(draw.choice([None, 1, 4]))
    names = ("app_start", "app_end", "sys_start", "sys_end")
    columns = {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(names)}
    table = pa.table(columns | {"v": pa.array(values, pa.int64())})
    sys, app = ((draw.randrange(-1, 9), draw.randrange(1, 4), draw.randrange(-2, 3)) for _ in range(2))
    ratio = draw.choice([(1, 1), (1, 2), (0, 1), (2, 0)])
    steps, meaning = draw.randrange(1, 6), draw.choice(["visible", "began"])
    parts = {
        "select": "select count(*) as n, sum(v) as s",
        "from": "from t",
        "sys": f"[SYS, START {sys[0]}, RANGE {sys[1]}, SLIDE {sys[2]}]",
        "app": f"[APP, START {app[0]}, RANGE {app[1]}, SLIDE {app[2]}]",
        "ratio": f"[RATIO {ratio[0]}:{ratio[1]}]" if ratio != (1, 1) else "",
        "steps": f"STEPS {steps}",
        "meaning": f"MEANING {meaning}",
        "where": "where v is not null" if draw.randrange(2) else "",
    }
    text = _written(parts)
    kept = [k for k, value in enumerate(values) if value is not None or not parts["where"]]
    answers = slide_query([rows[k] for k in kept], (*sys, sys[2]), (*app, app[2]), ratio, steps, meaning)
    expected = []
    for step, (_, _, valid) in enumerate(answers):
        known = [values[kept[row]] for row in valid if values[kept[row]] is not None]
        expected.append({"step": step, "n": len(valid), "s": sum(known) if known else None})
    _equal(tl.sql(text, t=table), expected, text, in_order=True)
    return parts, {"t": table}, 1


def _duckdb(text, **tables):
    connection = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc"})
    for name, table in tables.items():
        connection.register(name, table)
    try:
        return connection.sql(text).to_arrow_table().to_pylist()
    finally:
        connection.close()


def _equal(found, expected, text, *, in_order):
    rows = [[_plain(value) for value in row.values()] for row in found.to_pylist()]
    wanted = [[_plain(value) for value in row.values()] for row in expected]
    if not in_order:
        rows, wanted = sorted(rows, key=repr), sorted(wanted, key=repr)
    assert rows == wanted, f"{text}\nfound {rows}\nexpected {wanted}"


def _plain(value):
    return int(value) if isinstance(value, Decimal) else value


def _plan(parts, tables):
    """What a text means, or None if it is refused."""
    try:
        plan = tl.explain(tl.sql, _written(parts), **tables)
        tl.sql(_written(parts), **tables)
    except tl.TimeloomError:
        return None
    return plan["calls"], plan["inputs"], plan["sql"]


def _every_clause_counts(parts, tables):
    whole = _plan(parts, tables)
    assert whole is not None
    for name, text in parts.items():
        if text:
            assert _plan(parts | {name: ""}, tables) != whole, f"{text!r} has no meaning in {_written(parts)}"


def _only_our_errors(draw, text, tables, mutations=4):
    for _ in range(mutations):
        at = draw.randrange(len(text) + 1)
        upto = min(len(text), at + draw.randrange(6))
        mutated = draw.choice(
            [
                lambda at=at, upto=upto: text[:at] + text[upto:],
                lambda at=at: text[:at] + " " + draw.choice(NOISE) + " " + text[at:],
                lambda at=at: text[:at] + draw.choice(NOISE) + text[at:],
                lambda at=at, upto=upto: text[:at] + text[at:upto] * 3 + text[upto:],
            ]
        )()
        try:
            tl.sql(mutated, **tables)
        except tl.TimeloomError:
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} ({error}) for {mutated!r}") from error
