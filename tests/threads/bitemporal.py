"""Threads that read bitemporal indexes and tables while one writes: every answer is that of one whole state.

Each stress returns how many answers it has checked. It raises the first wrong one.
"""

import random
import threading
import time

import numpy as np
import pyarrow as pa

import timeloom as tl
from reference.bitemporal import slide_query, valid_rows

READERS = 3


def stress_index(seconds: float) -> int:
    """Windows, snapshots and rows of a `BitemporalIndex` beside appends, ends and checkpoints."""
    started, checked = time.monotonic(), 0
    for seed in range(10**6):
        if time.monotonic() - started > seconds:
            return checked
        draw = random.Random(seed)
        options = {"bucket": draw.choice([None, 1, 3]), "checkpoint_every": draw.choice([None, 7, 40])}
        checked += _rounds(_index_writer(tl.BitemporalIndex(_history([(0, 3, 0, None)]), **options), draw))
    return checked


def stress_table(seconds: float) -> int:
    """History, snapshots and an index of a `BitemporalTable` beside its transactions."""
    started, checked = time.monotonic(), 0
    for seed in range(10**6):
        if time.monotonic() - started > seconds:
            return checked
        checked += _rounds(_table_writer(random.Random(seed)))
    return checked


def _rounds(parts):
    """Run one writer and several readers to the end of the writer, then check what was read."""
    write, read, check = parts
    found, failures, done = [], [], threading.Event()

    def guarded(work):
        try:
            work()
        except BaseException as failure:
            failures.append(failure)
            done.set()

    def reading():
        draw = random.Random(threading.get_ident())
        while not done.is_set():
            found.append(read(draw))

    def writing():
        write()
        done.set()

    threads = [threading.Thread(target=guarded, args=(work,)) for work in [*[reading] * READERS, writing]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    for one in found:
        check(one)
    return len(found)


def _history(rows):
    names = ("app_start", "app_end", "sys_start", "sys_end")
    columns = {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(names)}
    return pa.table(columns | {"v": pa.array([sum(row[:2]) for row in rows], pa.int64())})


def _index_writer(index, draw, batches=60):
    """Every state by its number of rows and its latest time, and every pinned query with what it must answer."""
    rows = [(0, 3, 0, None)]
    states = {(1, 0): list(rows)}
    options = {"sys": (-2, 4, 1, 1), "app": (0, 4, 1, 1), "ratio": (1, 2), "steps": 12}

    def write():
        now = 0
        for _ in range(batches):
            now += draw.randrange(1, 3)
            fresh = []
            for _ in range(draw.randrange(1, 40)):
                app = draw.randrange(12)
                fresh.append((app, app + draw.randrange(1, 6), now, draw.choice([None, None, now, now + 1])))
            now = max(now, *(row[3] or 0 for row in fresh))
            alive = [number for number, row in enumerate(rows) if row[3] is None]
            ended = dict.fromkeys(draw.sample(alive, min(len(alive), draw.randrange(20))), now)
            later = [(*row[:3], ended.get(number, row[3])) for number, row in enumerate(rows)] + fresh
            states[len(later), now] = later
            rows[:] = later
            index.apply(_history(fresh), ended)
            if not draw.randrange(4):
                index.checkpoint()

    def read(draw):
        slides = {"sys": tl.Slide(*options["sys"]), "app": tl.Slide(*options["app"])}
        meaning = draw.choice(["snapshot", "visible", "began"])
        if draw.randrange(2):
            query = index.windows(**slides, ratio=(1, 2), steps=12, meaning=meaning, select={"s": ("v", "sum")})
            steps = [(s.entered.tolist(), s.left.tolist(), s.valid().tolist(), s.values["s"]) for s in query]
            again = [(s.entered.tolist(), s.left.tolist(), s.valid().tolist(), s.values["s"]) for s in query]
            return "windows", meaning, steps, again
        before = len(index)
        valid = index.as_of(app=5)
        return "as_of", before, valid.tolist(), index.rows(valid)["v"].to_pylist()

    def check(found):
        if found[0] == "windows":
            _, meaning, steps, again = found
            assert steps == again, "a pinned query changed"
            assert any(steps == expected(key, meaning) for key in reversed(states)), "windows of no whole state"
            return
        _, before, valid, values = found
        assert values == [sum(rows[number][:2]) for number in valid]
        assert any(
            key[0] >= before and valid == valid_rows(state, (key[1], key[1]), (5, 5)) for key, state in states.items()
        ), "a snapshot of no whole state"

    known = {}

    def expected(key, meaning):
        if (key, meaning) not in known:
            state = states[key]
            answers = slide_query(state, *options.values(), meaning)
            known[key, meaning] = [
                (*answer, sum(sum(state[row][:2]) for row in answer[2]) if answer[2] else None) for answer in answers
            ]
        return known[key, meaning]

    return write, read, check


def _table_writer(draw, batches=60):
    """Transfers between two accounts: in every state both balances are there, and amount to the same sum."""
    table = tl.BitemporalTable(key="name")
    with table.batch() as batch:
        for name in "ab":
            batch.insert({"name": name, "balance": 50, "app_start": 0, "app_end": None}, sys=0)
    index = table.index(checkpoint_every=5)

    def write():
        now = 0
        for _ in range(batches):
            now += draw.randrange(2)
            amount = draw.randrange(1, 9)
            balance = {row["name"]: row["balance"] for row in table.as_of(app=5).to_pylist()}
            with table.batch() as batch:
                batch.update("a", {"balance": balance["a"] - amount}, sys=now, portion=(draw.randrange(5), None))
                batch.update("b", {"balance": balance["b"] + amount}, sys=now)

    def read(draw):
        kind = draw.randrange(4)
        if kind == 0:
            return "as_of", table.as_of(app=5)["balance"].to_pylist()
        if kind == 1:
            return "history", table.history()
        if kind == 2:
            return "length", (len(table), table.latest)
        latest = index.latest
        slides = {"sys": tl.Slide(latest, 1, 1), "app": tl.Slide(4, 1, 0)}
        query = index.windows(**slides, steps=1, ratio=(0, 1), select={"all": ("balance", "collect")})
        return "as_of", next(iter(query)).values["all"]

    def check(found):
        kind, what = found
        if kind == "as_of":
            assert len(what) == 2 and sum(what) == 100, f"half a transfer: {what}"
        elif kind == "history":
            starts, ends = np.asarray(what["sys_start"]), what["sys_end"].to_pylist()
            assert all(end is None or start < end for start, end in zip(starts, ends, strict=True)), "a trace"
            now = [row for row in what.to_pylist() if row["sys_end"] is None and (row["app_end"] or 6) > 5]
            assert sum(row["balance"] for row in now if row["app_start"] <= 5) == 100
        else:
            assert what[0] >= 2 and what[1] >= 0

    return write, read, check
