"""Threads that read bitemporal indexes and tables while one writes: every answer is that of one whole state.

Each stress returns how many answers it has checked. It raises the first wrong one.
"""

import random
import threading
import time

import numpy as np
import pyarrow as pa

import timeloom as tl
from reference.bitemporal import window_sequence
from timeloom.bitemporal import checkpoints, draft

READERS = 3
NEVER = 2**63 - 1


def stress_index(seconds: float) -> int:
    """Windows, snapshots and rows of a `BitemporalIndex` beside appends, ends and checkpoints."""
    started, checked = time.monotonic(), 0
    for seed in range(10**6):
        if time.monotonic() - started > seconds:
            return checked
        checked += _rounds(_index_writer(random.Random(seed)))
    return checked


def stress_table(seconds: float) -> int:
    """History, snapshots and an index of a `BitemporalTable` beside its transactions."""
    started, checked, usual = time.monotonic(), 0, (draft.SETTLING, checkpoints.LEAST_SPACE)
    try:
        for seed in range(10**6):
            if time.monotonic() - started > seconds:
                break
            checked += _rounds(_table_writer(random.Random(seed)))
    finally:
        draft.SETTLING, checkpoints.LEAST_SPACE = usual
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
    columns = {name: pa.array(rows[:, k], mask=rows[:, k] == NEVER) for k, name in enumerate(names)}
    return pa.table(columns | {"v": pa.array(rows[:, 0] + rows[:, 1])})


def _inside(rows, sys, app, meaning):
    """The rows inside one window, by the definition of each meaning."""
    app_start, app_end, sys_start, sys_end = rows.T
    found = (sys_start < sys_end) & (app_start < app_end) & (sys_start <= sys[1]) & (app_start <= app[1])
    if meaning == "began":
        found &= (sys_start >= sys[0]) & (app_start >= app[0])
    else:
        at = 1 if meaning == "snapshot" else 0
        found &= (sys_end > sys[at]) & (app_end > app[at])
    return np.flatnonzero(found)


def _fresh(rng, now):
    """Rows that begin now; some have an end already, also at once."""
    count = int(rng.choice([30, 4_000]))
    app = rng.integers(0, 12, count)
    ends = rng.choice([NEVER, NEVER, now, now + 1], count)
    return np.stack([app, app + rng.integers(1, 6, count), np.full(count, now), ends], axis=1)


def _index_writer(draw, batches=12):
    """Every state is known by its number of rows, which an answer has at least and the next ones exceed."""
    rng = np.random.default_rng(draw.randrange(10**9))
    states = [_fresh(rng, 0)]
    options = {"bucket": draw.choice([None, 1, 3]), "checkpoint_every": draw.choice([None, 5_000])}
    index = tl.BitemporalIndex(_history(states[0]), **options)
    sequence = window_sequence((-2, 4, 1, 1), (0, 4, 1, 1), (1, 2), 12)

    def write():
        now = 1
        for _ in range(batches):
            now += int(rng.integers(1, 3))
            later = states[-1].copy()
            alive = np.flatnonzero(later[:, 3] == NEVER)
            ended = rng.choice(alive, min(alive.size, int(rng.integers(0, 800))), replace=False)
            later[ended, 3] = now
            fresh = _fresh(rng, now)
            states.append(np.concatenate([later, fresh]))
            index.apply(_history(fresh), dict.fromkeys(ended.tolist(), now))
            now += 1
            if not draw.randrange(4):
                index.checkpoint()

    def read(draw):
        meaning, select = draw.choice(["snapshot", "visible", "began"]), draw.choice([{}, {"s": ("v", "sum")}])
        least = len(index)
        query = index.windows(
            sys=tl.Slide(-2, 4, 1), app=tl.Slide(0, 4, 1), ratio=(1, 2), steps=12, meaning=meaning, select=select
        )
        steps, again = list(query), list(query)
        for one, other in zip(steps, again, strict=True):
            assert np.array_equal(one.valid(), other.valid()), "a pinned query changed"
            assert np.array_equal(one.entered, other.entered), "a pinned query changed"
            assert one.values == other.values, "a pinned query changed"
        found = [(step.valid(), step.values.get("s")) for step in steps]
        valid = index.as_of(app=5)
        return least, meaning, found, valid, index.rows(valid)["v"].to_numpy()

    def answers(state, meaning):
        inside = [_inside(state, sys, app, meaning) for sys, app in sequence]
        return [(rows, int((state[rows, 0] + state[rows, 1]).sum()) if rows.size else None) for rows in inside]

    def check(found):
        least, meaning, steps, valid, values = found
        candidates = [state for state in states if len(state) >= least]
        assert any(
            all(
                np.array_equal(a[0], b[0]) and a[1] in (None, b[1])
                for a, b in zip(steps, answers(state, meaning), strict=True)
            )
            for state in candidates
        ), f"{meaning} windows of no whole state"
        latest = [int(state[:, 2:][state[:, 2:] != NEVER].max()) for state in candidates]
        assert any(
            np.array_equal(valid, _inside(state, (at, at), (5, 5), "snapshot"))
            for state, at in zip(candidates, latest, strict=True)
        ), "a snapshot of no whole state"
        assert np.array_equal(values, states[-1][valid, 0] + states[-1][valid, 1])

    return write, read, check


def _table_writer(draw, batches=60):
    """Transfers between two accounts: in every state both balances are there, and amount to the same sum.

    Versions settle every few batches, so that readers meet every form that a version takes.
    """
    draft.SETTLING, checkpoints.LEAST_SPACE = draw.choice([(3, 2), (1024, 1 << 14)])
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
        kind = draw.randrange(5)
        if kind == 4:
            state = table._state
            first = [state.as_of(None, 5), state.history]
            time.sleep(0.001)
            assert [state.as_of(None, 5), state.history] == first, "a pinned state changed"
            return "as_of", first[0]["balance"].to_pylist()
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
            assert (len(what), sum(what)) == (2, 100), f"half a transfer: {what}"
        elif kind == "history":
            starts, ends = np.asarray(what["sys_start"]), what["sys_end"].to_pylist()
            assert all(end is None or start < end for start, end in zip(starts, ends, strict=True)), "a trace"
            now = [row for row in what.to_pylist() if row["sys_end"] is None and (row["app_end"] or 6) > 5]
            assert sum(row["balance"] for row in now if row["app_start"] <= 5) == 100
        else:
            assert what[0] >= 2
            assert what[1] >= 0

    return write, read, check
