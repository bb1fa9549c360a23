"""Random SQL texts: answers equal DuckDB or brute force, every clause counts, and only our errors are raised."""

import random
import time
from decimal import Decimal

import duckdb
import pyarrow as pa

import timeloom as tl
from reference.bitemporal import slide_query
from timeloom.query.clauses import clauses_of
from timeloom.query.parse import parse

RELATIONS = {
    "intersects": "{r}.start < {s}.end and {s}.start < {r}.end",
    "during": "{s}.start < {r}.start and {r}.end < {s}.end",
    "before": "{r}.end < {s}.start",
    "meets": "{r}.end = {s}.start",
    "equals": "{r}.start = {s}.start and {r}.end = {s}.end",
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
        check = draw.choice([_ordinary, _joined, _windowed])
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


def _table(draw, rows=None):
    """A tiny table with ties, nulls and periods."""
    count = draw.randrange(7) if rows is None else rows
    starts = [draw.randrange(6) for _ in range(count)]
    return pa.table(
        {
            "k": pa.array([draw.choice([None, 1, 2]) for _ in starts], pa.int64()),
            "v": pa.array([draw.choice([None, -1, 0, 2, 5]) for _ in starts], pa.int64()),
            "s": pa.array([draw.choice([None, "a", "ab", "B"]) for _ in starts], pa.string()),
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([start + draw.randrange(1, 5) for start in starts], pa.int64()),
        }
    )


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
    """Two tables joined by a relation and a key, against the join that it stands for."""
    relation, kind = draw.choice(list(RELATIONS)), draw.choice(["", "left ", "right ", "full "])
    keyed = draw.randrange(3)
    condition = draw.choice(["", "where b.k is null", "where a.k is null", "where b.v > 0", "where a.s = b.s"])
    select = "select a.k as l, b.k as r, a.v as x, b.v as y, a.start as p, b.end as q"
    if keyed and draw.randrange(2):
        select += ", k as both"
    parts = {
        "select": select,
        "from": f"from t a {kind}join u b on a.period {relation} b.period",
        "key": "and a.k = b.k" if keyed else "",
        "where": condition,
    }
    tables = {"t": _table(draw), "u": _table(draw)}
    text = _written(parts)
    meant = select.replace(", k as both", ", coalesce(a.k, b.k) as both")
    plain = f"{meant} from t a {kind}join u b on {RELATIONS[relation].format(r='a', s='b')} {parts['key']} {condition}"
    _equal(tl.sql(text, **tables), _duckdb(plain, **tables), text, in_order=False)
    return parts, tables, 1


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
    connection = duckdb.connect()
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
    text = _written(parts)
    try:
        statement = parse(text)
        columns = [name for table in tables.values() for name in table.column_names]
        clauses = clauses_of(statement.select, text, columns)
        tl.sql(text, **tables)
    except tl.TimeloomError:
        return None
    source = repr(statement.source).split("token=")
    return [part.split(")", 1)[1] if at else part for at, part in enumerate(source)], repr(clauses)


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
