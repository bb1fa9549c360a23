"""An interrupt stops every verb at once, long before its work would have ended, and leaves everything usable.

Where a verb does its longest step a kernel spins until it is released, which happens only after the interrupt has come
back. A verb that waited for its kernels would never come back; the next call must be right, and the thread must end.
"""

import subprocess
import sys

import pytest

from timeloom.engines.resources.threads import in_parallel

PROGRAM = """
import importlib, os, signal, threading, time
import numba, numpy as np, pyarrow as pa
import timeloom as tl
from timeloom.engines.resources.threads import in_parallel

released, turns = np.zeros(1, np.int64), np.zeros(1, np.int64)

@numba.njit(nogil=True)
def spin(released, turns):
    while released[0] == 0:
        turns[0] += 1

n = np.arange(1100)  # fewer rows are not worth a thread
rows = pa.table({"start": 10 * n, "end": 10 * n + 15, "v": n})
history = pa.table({"sys_start": [1, 2], "sys_end": [4, None], "app_start": [1, 2], "app_end": [9, 9]})
slide = tl.Slide(1, 2, 1)
local, timelines = "timeloom.engines.local", "timeloom.engines.timelines"
skipping = "timeloom.engines.joins.parallel_skip"
importlib.import_module(skipping).SHORT = importlib.import_module(skipping).REST = 0
CALLS = [
    (lambda: tl.join(rows, rows), f"{local}.join", "find"),
    (lambda: tl.join(rows, rows, how="left"), f"{local}.join", "_assemble"),
    (lambda: tl.join(rows, rows, how="semi"), f"{local}.join", "exists"),
    (lambda: list(tl.join(rows, rows, batches=True)), f"{local}.join", "find"),
    (lambda: tl.join(rows, rows, algorithm="sweep"), "timeloom.engines.joins.algorithms", "sweep_batches"),
    (lambda: tl.join(rows, rows, algorithm="skip"), "timeloom.engines.joins.skip_join", "skip_pages"),
    (lambda: tl.count_join(rows, rows), f"{local}.count_join", "counts_by"),
    (lambda: tl.top_k(rows, rows, 1), f"{local}.count_join", "counts_by"),
    (lambda: tl.temporal_join(rows, rows), f"{timelines}.sequenced", "find"),
    (lambda: tl.temporal_antijoin(rows, rows), f"{timelines}.sequenced", "subtract"),
    (lambda: tl.temporal_aggregate(rows, {"t": ("v", "sum")}), f"{timelines}.measure_task", "integer_sums"),
    (lambda: tl.depth(rows), f"{local}.temporal_aggregate", "sweep"),
    (lambda: tl.coalesce(rows), "timeloom.kernels.sequenced.coalesce", "coalesce"),
    (lambda: tl.gaps(rows), f"{local}.gaps", "subtract"),
    (lambda: tl.stab(rows, 3), f"{local}.stab", "stabbed"),
    (lambda: tl.sliding_windows(history, slide, slide, steps=2), f"{local}.sliding_windows", "step_runs"),
    (lambda: tl.StabForest.build([0], [2]).skip_join(([1], [3]), variant="index"), skipping, "in_parallel"),
    (lambda: in_parallel([lambda: numba.get_num_threads() > 0] * 8, 2), "numba", "get_num_threads"),
]

def judged(call, home, name):
    expected, real = repr(call()), getattr(home, name)
    under_way, ended = threading.Event(), threading.Event()

    def slowed(*args, **options):
        under_way.set()
        spin(released, turns)
        ended.set()
        return real(*args, **options)

    def interrupt():
        under_way.wait()
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    setattr(home, name, slowed)
    released[0] = 0
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        call()
        return "never interrupted"
    except KeyboardInterrupt:
        found = "late" if ended.is_set() else "in time"
    setattr(home, name, real)
    found += ", right" if repr(call()) == expected else ", wrong"
    released[0] = 1
    return found + (", over" if ended.wait(60) else ", stuck")

released[0] = 1
spin(released, turns)
for number, (call, home, name) in enumerate(CALLS):
    print(number, judged(call, importlib.import_module(home), name), flush=True)
"""


def test_an_interrupt_need_not_wait_for_the_work():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=200, check=False)
    found = done.stdout.splitlines()
    assert found == [f"{number} in time, right, over" for number in range(18)], done.stderr[-2000:]


def test_a_program_that_was_interrupted_ends_without_waiting():
    program = PROGRAM.split("def judged", maxsplit=1)[0] + (
        "released[0] = 1\nspin(released, turns)\nreleased[0] = 0\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "in_parallel([lambda: spin(released, turns)] * 4, 2)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_kernels_that_an_interrupt_left_behind_keep_the_forest_that_they_read():
    program = (
        PROGRAM.split("CALLS = [", maxsplit=1)[0]
        + """
batches = importlib.import_module("timeloom.stab_forest.batches")
real, seen, ended = batches.in_parallel, [], threading.Event()

def slowed(tasks, threads):
    def slow(task):
        index = task.args[0]
        before = index.counts.copy()
        spin(released, turns)
        seen.append(bool((index.counts == before).all()))
        ended.set()
        return task()
    return real([lambda task=task: slow(task) for task in tasks], threads)

released[0] = 1
spin(released, turns)
released[0], batches.in_parallel = 0, slowed
forest, ts = tl.StabForest.build(n, n + 5), np.arange(60_000)
forest.extend([1099], [1105])  # there is room for more from now on
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    forest.stab_many(ts)
except KeyboardInterrupt:
    pass
forest.extend([1100, 1101], [1105, 1106])
forest.finish(forest.begin(1200), 1300)
batches.in_parallel = real
print(forest.stab_many([1102])[1].size, end=" ")
released[0] = 1
print(ended.wait(60), set(seen))
"""
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "5 True {True}\n", done.stderr[-2000:]


def test_errors_of_tasks_reach_the_caller():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_parallel([fail, *[list] * 1000], 2)
    assert in_parallel([lambda number=number: number for number in range(50)], 3) == list(range(50))
