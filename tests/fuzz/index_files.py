"""Index files under attack: damaged ones are refused, and forged ones can do no harm.

A file is damaged in its bytes, which its hash must find; or it is forged: read, changed in its arrays or its metadata,
and written again with a hash that is right. Of those, what is refused is refused as `StorageError`; what is taken must
answer and grow without a fault that is not ours, and a forest must still answer as its own events say.
"""

import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom import BitemporalIndex, BitemporalTable, StabForest, StorageError, storage
from timeloom.errors import TimeloomError
from timeloom.kernels.stab_forest.layout import FOREVER
from timeloom.model.slide import Slide

EXTREMES = (-(2**63), -(2**31), -1, 0, 1, 2, 63, 64, 2**31 - 1, 2**31, 2**62, 2**63 - 1)
VALUES = (*EXTREMES, None, True, False, "", "date", "watermark", "zoned", 1.5, [], {}, [None], [0, 0], 10**30)


@dataclass(frozen=True)
class Kind:
    """Something that is stored: how it is made, how it is read, and how it is used once it is read."""

    name: str
    make: Callable[[], Any]
    load: Callable[[Path], Any]
    use: Callable[[Any, random.Random], None]


def a_forest() -> StabForest:
    rng = np.random.default_rng(11)
    starts = rng.integers(0, 150, 200)
    ends = starts + rng.integers(1, 60, 200)
    ends[rng.random(200) < 0.08] = FOREVER
    return StabForest.build(starts, ends, order="start")


def a_waiting_forest() -> StabForest:
    forest = StabForest(order="watermark")
    rng = np.random.default_rng(12)
    starts = rng.integers(0, 90, 120)
    forest.extend(starts, starts + rng.integers(1, 40, 120))
    forest.begin(20)
    forest.advance(50)
    return forest


def a_calendar() -> StabForest:
    days = [date(2024, 1, 1) + timedelta(days=row // 2) for row in range(80)]
    return StabForest.build(days, [day + timedelta(days=1 + row % 9) for row, day in enumerate(days)])


def a_history(rows: int = 400, seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    sys_start, app_start = rng.integers(0, 50, rows), rng.integers(0, 90, rows)
    sys_end, app_end = sys_start + rng.integers(0, 40, rows), app_start + rng.integers(0, 30, rows)
    return pa.table(
        {
            "sys_start": sys_start,
            "sys_end": pa.array(sys_end, mask=sys_end > 50),
            "app_start": app_start,
            "app_end": pa.array(app_end, mask=app_end > 90),
            "value": rng.integers(-5, 5, rows),
        }
    )


def an_index() -> BitemporalIndex:
    return BitemporalIndex(a_history(), checkpoint_every=100, bucket=7)


def a_table() -> BitemporalTable:
    table = BitemporalTable(key="name")
    table.insert([{"name": f"n{row}", "app_start": row, "app_end": row + 9} for row in range(30)], sys=5)
    table.delete("n3", sys=7)
    return table


def use_forest(forest: StabForest, rng: random.Random) -> None:
    starts, ends = (part.astype(np.int64) for part in forest.events())
    ends[ends == -(2**63)] = FOREVER
    axis = forest.axis
    for tick in (*rng.sample(range(-5, 260), 4), 19_750, 2**62):
        t = tick if axis in ("integer", None) else np.datetime64(min(tick, 10**5), "D" if axis == "date" else "us")
        tick = min(tick, 10**5) if t is not tick else tick
        if axis == "timestamp with zone":
            continue
        settled = np.flatnonzero((starts <= tick) & (tick < ends))
        found = forest.stab(t)
        assert found.size == settled.size == forest.count(t), (tick, found, settled)
        forest.multi_stab([t], variant="index", c=1)
        forest.overlapping(t)
    forest.skip_join(forest, variant="index")
    if axis not in ("integer", None):
        return
    for event in range(len(forest)):
        try:
            forest.finish(forest.handle(event), rng.randrange(100, 400))
        except TimeloomError:
            continue
    last = max(60, int(starts.max(initial=0)))
    for start in range(last, min(last + 40, 2**62)):
        forest.append(start, start + rng.randrange(1, 90))
    forest.stab(last)


def use_index(index: BitemporalIndex, rng: random.Random) -> None:
    if not len(index):
        return
    for meaning in ("snapshot", "visible", "began"):
        for step in index.windows(
            sys=Slide(0, 10, 3), app=Slide(0, 20, rng.choice((1, 5))), ratio=(1, 2), steps=20, meaning=meaning
        ):
            step.valid()
    index.as_of(app=rng.randrange(90))
    index.rows(np.array([0]))
    index.append(a_history(70).slice(0, 0))
    later = a_history(70, rng.randrange(99))
    index.append(later.set_column(0, "sys_start", pa.array([10**6] * 70)).set_column(1, "sys_end", pa.nulls(70)))
    index.cells()


def use_table(table: BitemporalTable, rng: random.Random) -> None:
    table.history()
    table.as_of(app=rng.randrange(40))
    table.index().as_of(app=rng.randrange(40))
    table.insert({"name": "new", "app_start": 1, "app_end": 4}, sys=10**6)


KINDS = (
    Kind("forest", a_forest, StabForest.load, use_forest),
    Kind("waiting forest", a_waiting_forest, StabForest.load, use_forest),
    Kind("calendar", a_calendar, StabForest.load, use_forest),
    Kind("index", an_index, BitemporalIndex.load, use_index),
    Kind("table", a_table, BitemporalTable.load, use_table),
)


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """Some other bytes: flips, pairs of flips that cancel out in sums, swaps, cuts, additions."""
    changed = bytearray(whole)
    at = rng.randrange(len(whole))
    match rng.randrange(9):
        case 0:
            changed[at] ^= 1 << rng.randrange(8)
        case 1:
            word = 8 * rng.randrange(1, 100)
            if at + word < len(whole):
                changed[at], changed[at + word] = (changed[at] + 1) % 256, (changed[at + word] - 1) % 256
        case 2:
            one, two = (8 * rng.randrange(len(whole) // 8) for _ in range(2))
            changed[one : one + 8], changed[two : two + 8] = changed[two : two + 8], changed[one : one + 8]
        case 3:
            del changed[at:]
        case 4:
            changed += rng.randbytes(rng.choice((1, 8, 4096)))
        case 5:
            changed[at : at + 64] = bytes(len(changed[at : at + 64]))
        case 6:
            changed[at:at] = rng.randbytes(8)
        case 7:
            del changed[at : at + 8]
        case 8:
            block = changed[at : at + 512]
            changed[at : at + 512] = block[::-1]
    return bytes(changed)


def forge(arrays: dict[str, Any], meta: dict[str, Any], rng: random.Random) -> None:
    """Change something, in place: an entry, two entries, a size, a type, an array, or a fact."""
    name = rng.choice(list(arrays))
    array = arrays[name] = arrays[name].copy()
    what = rng.randrange(10)
    if what < 4 and array.size and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        near = int(array[rng.randrange(array.size)]) + rng.choice((-1, 1))
        value = rng.choice((near, rng.choice(EXTREMES), rng.randrange(300)))
        array[rng.randrange(array.size)] = min(max(value, limits.min), limits.max)
    elif what == 4 and array.size > 1:
        one, two = rng.sample(range(array.size), 2)
        array[[one, two]] = array[[two, one]]
    elif what == 5:
        arrays[name] = array[: rng.randrange(array.size + 1)] if rng.random() < 0.5 else np.concatenate([array, array])
    elif what == 6:
        arrays[name] = array.astype(rng.choice((np.int8, np.int32, np.int64, np.float64, np.uint64)))
    elif what == 7:
        del arrays[name]
    else:
        fact = rng.choice(list(meta))
        found = meta[fact]
        if isinstance(found, dict) and found and rng.random() < 0.8:
            inner = rng.choice(list(found))
            found[inner] = forged_list(found[inner], rng)
        else:
            meta[fact] = (
                forged_list(found, rng) if isinstance(found, list) and rng.random() < 0.7 else rng.choice(VALUES)
            )


def forged_list(found: Any, rng: random.Random) -> Any:
    if not isinstance(found, list) or not found:
        return rng.choice(VALUES)
    changed = list(found)
    at = rng.randrange(len(changed))
    inner = changed[at]
    changed[at] = forged_list(inner, rng) if isinstance(inner, list) else rng.choice(VALUES)
    return changed


def mutate(seed: int, rounds: int) -> dict[str, int]:
    """Attack files of every kind; answers how many were refused, by kind and manner, and how many were taken."""
    print(f"index files, seed {seed}")
    rng, outcome = random.Random(seed), {}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "attacked"
        originals = {}
        for kind in KINDS:
            kind.make().save(path)
            originals[kind.name] = path.read_bytes()
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            manner = "damaged" if rng.random() < 0.5 else "forged"
            path.unlink(missing_ok=True)
            path.write_bytes(originals[kind.name])
            if manner == "damaged":
                content = damaged(originals[kind.name], rng)
                path.unlink()
                path.write_bytes(content)
                same = content == originals[kind.name]
            else:
                same = rewrite(path, rng)
            verdict = attack(kind, path, rng)
            assert same or manner == "forged" or verdict == "refused", f"round {number}: damage was not found"
            outcome[f"{kind.name} {manner} {verdict}"] = outcome.get(f"{kind.name} {manner} {verdict}", 0) + 1
    return outcome


def rewrite(path: Path, rng: random.Random) -> bool:
    """Forge a file: the hash is right, the content is not."""
    header = pa.ipc.open_file(pa.memory_map(str(path))).schema.metadata[b"timeloom"]
    stored = json.loads(header)
    arrays, meta = storage.load(path, stored["kind"], stored["version"])
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.choice((1, 1, 2))):
        if arrays:
            forge(arrays, meta, rng)
    storage.save(path, stored["kind"], stored["version"], arrays, meta)
    return False


def attack(kind: Kind, path: Path, rng: random.Random) -> str:
    try:
        found = kind.load(path)
    except StorageError:
        return "refused"
    try:
        kind.use(found, rng)
    except TimeloomError:
        return "taken, and of little use"
    return "taken"
