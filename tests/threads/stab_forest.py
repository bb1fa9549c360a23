"""One stab-forest in many threads: every answer must be right for one state that the forest was in while it was asked.

One thread writes a history that is known beforehand: the event k starts at k, and every third one is begun and finished
somewhat later. Readers note how far the history was before and after each call, and compare.
"""

import copy
import pickle
import random
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import timeloom as tl
from timeloom import StabForest

LENGTHS = (1, 7, 40, 300)
LAG = 50
ENOUGH = 100
"""So many answers are looked at however busy the machine is."""


def end_of(event: int) -> int:
    return event + LENGTHS[event % len(LENGTHS)]


class History:
    """What has been written, in two counters: a step counts as begun before the call and as done after it."""

    def __init__(self, forest: StabForest) -> None:
        self.forest = forest
        self.begun = self.done = 0
        self.handles: dict[int, object] = {}

    def write(self, rng: random.Random) -> None:
        """Add some events, and finish what was begun a while ago."""
        first = self.done
        count = rng.choice((1, 1, 1, 30))
        self.begun = first + count
        if count > 1:
            starts = np.arange(first, first + count)
            self.forest.extend(starts, np.array([end_of(start) for start in starts.tolist()]))
        elif first % 3 == 0:
            self.handles[first] = self.forest.begin(first)
        else:
            assert self.forest.append(first, end_of(first)) == first
        self.done = first + count
        for event in [event for event in self.handles if event < first - LAG]:
            self.forest.finish(self.handles.pop(event), end_of(event))

    def check(self, found: list[int], t: int, before: int, after: int) -> None:
        """The answer must be that of some prefix of the history; begun events may be open or finished already."""
        assert len(set(found)) == len(found), f"an event twice at {t}: {sorted(found)}"
        found_set = set(found)
        assert all(event <= t and event < after for event in found_set), f"too many at {t}: {sorted(found)}"
        sure = {event for event in range(max(0, t - max(LENGTHS)), min(before, t + 1)) if t < end_of(event)}
        assert sure <= found_set, f"lost at {t}: {sorted(sure - found_set)}"
        extra = [event for event in found_set if t >= end_of(event)]
        assert all(event % 3 == 0 and event >= before - 2 * LAG - 60 for event in extra), f"not active at {t}: {extra}"


def ask(history: History, rng: random.Random, scratch: Path) -> None:
    forest, before = history.forest, history.done
    t = max(0, before - rng.randrange(1, 400))
    kind = rng.randrange(10)
    if kind < 3:
        found = forest.stab(t).tolist()
    elif kind == 3:
        count = forest.count(t)
        sure = sum(t < end_of(event) for event in range(max(0, t - max(LENGTHS)), min(before, t + 1)))
        assert sure <= count <= sure + LAG + 60 + (t + 1 - min(before, t + 1)), (t, sure, count)
        return
    elif kind == 4:
        found = forest.multi_stab([t]).tolist()
    elif kind == 5:
        left, right = forest.skip_join(forest, window=(t, t + 1))
        assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == sorted(
            zip(right.tolist(), left.tolist(), strict=True)
        ), "a self-join saw two states"
        found = left[left == right].tolist()
        assert len(left) == len(found) ** 2, "a self-join saw two states"
    elif kind == 6:
        copied = rng.choice((lambda: pickle.loads(pickle.dumps(forest)), lambda: copy.copy(forest)))()
        assert before <= len(copied) <= history.begun
        found = copied.stab(t).tolist()
        copied.append(10**9, 10**9 + 1)
    elif kind == 7:
        found = tl.stab(forest, at=t)["id"].to_pylist()
    elif kind == 8:
        found = tl.join(pa.table({"start": [t], "end": [t + 1]}), forest, columns=["id"])["id"].to_pylist()
    else:
        path = rng.choice((scratch / f"{threading.get_ident()}.index", scratch / "shared.index"))
        forest.save(path, incremental=rng.random() < 0.5)
        loaded = StabForest.load(path)
        assert before <= len(loaded) <= history.begun
        found = loaded.stab(t).tolist()
    history.check(found, t, before, history.begun)


def stress(seconds: float, readers: int = 4, seed: int = 0) -> int:
    """Write and read at once for some time, and until enough was asked; answers how many calls were checked."""
    print(f"stab-forest in threads, seed {seed}")
    history = History(StabForest(order="start"))
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(60):  # every kernel is loaded before the clock runs
            history.write(random.Random(seed))
            ask(history, random.Random(_), Path(scratch))
    until, calls, faults = time.monotonic() + seconds, [0] * readers, []

    def goes_on() -> bool:
        return not faults and (time.monotonic() < until or sum(calls) <= ENOUGH)

    def read(number: int, scratch: Path) -> None:
        rng = random.Random(seed * 1000 + number)
        try:
            while goes_on():
                ask(history, rng, scratch)
                calls[number] += 1
        except BaseException as fault:
            faults.append(fault)

    def write() -> None:
        rng = random.Random(seed)
        try:
            while goes_on():
                history.write(rng)
        except BaseException as fault:
            faults.append(fault)

    with tempfile.TemporaryDirectory() as scratch:
        threads = [threading.Thread(target=read, args=(number, Path(scratch))) for number in range(readers)]
        threads.append(threading.Thread(target=write))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if faults:
        raise faults[0]
    assert history.done > 0
    return sum(calls)
