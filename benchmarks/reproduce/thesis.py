"""Bitemporal sliding windows: initial windows and slides (figures 5.1 to 5.6)."""

from functools import partial

import numpy as np

from benchmarks.data.orders import Orders, orders
from benchmarks.reproduce.contest import Contest, same
from benchmarks.reproduce.figures import Axis, Record, figure, times
from benchmarks.reproduce.thesis_setup import (
    BITL,
    KEPT,
    LEARNED,
    PRESENT,
    RETROACTIVE,
    RTREE,
    SCAN,
    TREES,
    index_of,
    initial,
    known_at,
    peer_slides,
    slides,
    snapshots,
    structures,
)

SYS_END, SECONDS = Axis("sys_end"), Axis("seconds", log=True)
TREES_KEEP = (
    "The thesis's trees filter what a slide finds by a scan of their other tree. Beside them stand trees that keep the "
    "rows visible on either axis as sets between slides, a stronger competitor that the thesis does not have. "
)
PEERS = (BITL, TREES, RTREE, SCAN)
LATEST = f"{RETROACTIVE}, at the latest system time"
GROWING = {"tiny": (2_000, 2), "small": (40_000, 4), "full": (1_000_000, 5)}


def initial_windows(record: Record, data: list[Orders], names: tuple[str, ...] = PEERS) -> dict[str, float]:
    """Time of the initial window; the non-retroactive index is asked at the latest system time, as all it can be.

    That window holds more rows than one in the middle of the history, so the retroactive index is asked there, too.
    """
    spent: dict[str, float] = {}
    for known in data:
        app, half = known.instants // 2, known.latest // 2
        peers = structures(known, names)
        index = index_of(known)
        ways = {RETROACTIVE: partial(initial, index, half, app)}
        contest = Contest(ways | {name: partial(peer.initial, half, app) for name, peer in peers.items()})
        present = index_of(known, retroactive=False)
        latest = Contest(
            {
                PRESENT: partial(initial, present, known.latest, app),
                LATEST: partial(initial, index, known.latest, app),
                SCAN: partial(structures(known, (SCAN,))[SCAN].initial, known.latest, app),
            }
        )
        contest.warm()
        latest.warm()
        asked = latest.race()
        spent = contest.race() | {name: asked[name] for name in (PRESENT, LATEST)}
        for name, seconds in spent.items():
            record.point(name, known.latest, seconds)
    record.checked("all windows hold the rows of a table scan")
    return spent


@figure(
    "thesis",
    "5.1",
    "Time to make the initial windows, SYS [0, sys_end/2], APP [0, app_end/2]",
    statement="The scan grows linearly; both forms of BiSW are an order of magnitude faster than BiTL, the "
    "runner-up; the non-retroactive form is the faster one.",
    x=SYS_END,
    y=SECONDS,
    sizes=GROWING,
    learned=LEARNED
    + "A scan of compressed columns is fast on a processor of today, and half of the rows are in the answer.",
)
def windows(record: Record, size) -> None:
    spent = initial_windows(record, snapshots(*size))
    record.judge("factor", "BiTL / retroactive BiSW", "10 x", spent[BITL] / spent[RETROACTIVE], 10)
    record.judge("factor", "BiTL / non-retroactive BiSW", "10 x", spent[BITL] / spent[PRESENT], 10)
    at_latest = spent[LATEST] / spent[PRESENT]
    record.judge("more", "retroactive / non-retroactive, both at the latest system time", "above 1 x", at_latest)
    record.judge("more", "table scan / retroactive BiSW", "above 1 x", spent[SCAN] / spent[RETROACTIVE])


@figure(
    "thesis",
    "5.2",
    "The same, the first fifth of the system times",
    statement="From the beginning both forms of BiSW outperform BiTL by an order of magnitude.",
    x=SYS_END,
    y=SECONDS,
    sizes=GROWING,
    learned=LEARNED,
)
def first_windows(record: Record, size) -> None:
    spent = initial_windows(record, snapshots(*size, share=0.2), (BITL, SCAN))
    record.judge("factor", "BiTL / retroactive BiSW", "10 x", spent[BITL] / spent[RETROACTIVE], 10)
    record.judge("factor", "BiTL / non-retroactive BiSW", "10 x", spent[BITL] / spent[PRESENT], 10)


def mean_slides(known: Orders, at: int, ratio: tuple[int, int], steps: int, names: tuple[str, ...]) -> dict[str, float]:
    """Mean seconds of a slide, the best of some runs; what entered and left is compared first."""
    app, found = known.instants // 2, {}
    index = index_of(known)
    few = min(steps, 20)
    wanted = slides(index, at, app, ratio, few)[1]
    for name, peer in structures(known, names).items():
        _compare(wanted, peer_slides(peer, at, app, ratio, few)[1], name)
        number = steps if name in (BITL, KEPT) else few
        found[name] = min(float(np.mean(peer_slides(peer, at, app, ratio, number)[0])) for _ in range(3))
    found[RETROACTIVE] = min(float(np.mean(slides(index, at, app, ratio, steps)[0])) for _ in range(3))
    return found


@figure(
    "thesis",
    "5.3",
    "One system slide, at growing system times",
    statement="BiSW slides five times as fast as the runner-up; the trees get slower as data grow, the scan stays "
    "the same.",
    x=SYS_END,
    y=Axis("seconds for a slide", log=True),
    sizes=GROWING,
    learned=LEARNED + TREES_KEEP + "The scan looks up what begins, and scans for what ends.",
)
def system_slides(record: Record, size) -> None:
    found: dict[str, float] = {}
    for known in snapshots(*size):
        found = mean_slides(known, known.latest // 2, (1, 0), 50, (*PEERS, KEPT))
        for name, seconds in found.items():
            record.point(name, known.latest, seconds)
    record.checked("what enters and leaves is the same for all")
    best = min(PEERS, key=lambda name: found[name])
    record.judge("factor", f"the runner-up ({best}) / BiSW", "5 x", found[best] / found[RETROACTIVE], 5)
    record.aside(f"{KEPT} / BiSW", times(found[KEPT] / found[RETROACTIVE]))
    record.judge("factor", "BiTL / BiSW", "above 5 x", found[BITL] / found[RETROACTIVE], 5)


@figure(
    "thesis",
    "5.4",
    "Application slides at snapshots of growing system time, checkpoints at several distances",
    statement="BiTL is best, the non-retroactive form close. The retroactive form gets slower with the history, and "
    "drops back at each checkpoint.",
    x=SYS_END,
    y=Axis("seconds for a slide"),
    sizes={"tiny": (3_000, 6, 20), "small": (60_000, 16, 200), "full": (1_000_000, 24, 1_000)},
    learned=LEARNED
    + "Checkpoints are taken after a fifth and after a twentieth of all events. Deltas are computed for many "
    "slides at once, which spreads what a checkpoint saves.",
)
def application_slides(record: Record, size) -> None:
    versions, count, steps = size
    last: dict[str, list[float]] = {}
    data = orders(versions)
    distances = {"no checkpoints": None, "checkpoints far apart": versions // 5, "checkpoints close": versions // 20}
    for number in range(1, count + 1):
        known = known_at(data, data.latest * number // count)
        app = known.instants // 2
        timeline = structures(known, (BITL,))[BITL]
        wanted = peer_slides(timeline, known.latest, app, (0, 1), steps)[1]
        indexes = {f"{RETROACTIVE}, {told}": _checkpointed(known, every) for told, every in distances.items()}
        indexes[PRESENT] = index_of(known, retroactive=False)
        for name, index in indexes.items():
            _compare(wanted, slides(index, known.latest, app, (0, 1), steps)[1], name)
            spent = min(float(np.mean(slides(index, known.latest, app, (0, 1), steps)[0])) for _ in range(3))
            last.setdefault(name, []).append(spent)
        spent = min(float(np.mean(peer_slides(timeline, known.latest, app, (0, 1), steps)[0])) for _ in range(3))
        last.setdefault(BITL, []).append(spent)
        for name, seconds in last.items():
            record.point(name, known.latest, seconds[-1])
    record.checked("what enters and leaves is the same for all")
    _judge_application(record, last)


def _checkpointed(known: Orders, every: int | None):
    """An index with a checkpoint after each so many rows, as far as the history reaches."""
    index = index_of(known)
    if every is not None:
        for row in range(every, len(known), every):
            index.checkpoint(int(known.sys_start[row]))
    return index


def _compare(wanted: list, told: list, name: str) -> None:
    if not all(same(list(one), list(other)) for one, other in zip(wanted, told, strict=True)):
        raise AssertionError(f"{name} slides otherwise")


def _judge_application(record: Record, last: dict[str, list[float]]) -> None:
    plain = last[f"{RETROACTIVE}, no checkpoints"]
    close = last[f"{RETROACTIVE}, checkpoints close"]
    record.judge("near", "non-retroactive BiSW / BiTL", "slightly above 1 x", last[PRESENT][-1] / last[BITL][-1])
    record.judge("grows", "retroactive, growth with the history", "grows", plain[-1] / min(plain))
    record.judge("grows", "no checkpoints / close ones, in the end", "drops", plain[-1] / close[-1])


@figure(
    "thesis",
    "5.5",
    "A sequence of slides on the final table, RATIO 1:4",
    statement="Each fifth step, a system slide, is a peak; there both forms of BiSW beat all others.",
    x=Axis("step"),
    y=Axis("seconds", log=True),
    sizes={"tiny": (2_000, 10, 2), "small": (40_000, 30, 9), "full": (1_000_000, 40, 15)},
    learned=LEARNED
    + "Shown are medians of several runs, and for BiSW the fastest and the slowest run. Deltas of a stretch of "
    "slides are computed at once (8, 32, 128, ...), so our peaks are where a stretch begins.",
)
def sequence(record: Record, size) -> None:
    versions, steps, turns = size
    data = orders(versions)
    sys, app = data.latest // 2, data.instants // 2
    index = index_of(data)
    wanted, runs = slides(index, sys, app, (1, 4), steps)[1], {}
    runs[RETROACTIVE] = np.array([slides(index, sys, app, (1, 4), steps)[0] for _ in range(turns)])
    for name, peer in structures(data, (BITL, TREES, SCAN, KEPT)).items():
        _compare(wanted, peer_slides(peer, sys, app, (1, 4), steps)[1], name)
        runs[name] = np.array([peer_slides(peer, sys, app, (1, 4), steps)[0] for _ in range(max(2, turns // 3))])
    for name, found in runs.items():
        for step, seconds in enumerate(np.median(found, axis=0), start=1):
            record.point(name, step, seconds)
    for told, of in (("fastest", np.min), ("slowest", np.max)):
        for step, seconds in enumerate(of(runs[RETROACTIVE], axis=0), start=1):
            record.point(f"{RETROACTIVE}, {told}", step, seconds)
    record.checked("what enters and leaves is the same for all")
    systems = {name: float(np.median(found, axis=0)[::5].mean()) for name, found in runs.items()}
    others = {name: float(np.delete(np.median(found, axis=0), np.s_[::5]).mean()) for name, found in runs.items()}
    record.judge("much", "BiTL: system slide / application slide", "peaks", systems[BITL] / others[BITL])
    whole = {name: float(np.median(found, axis=0).sum()) for name, found in runs.items()}
    rival = min((BITL, TREES, SCAN), key=lambda name: whole[name])
    ahead = whole[rival] / whole[RETROACTIVE]
    record.judge("more", f"all steps, the runner-up ({rival}) / BiSW", "above 1 x", ahead)
    record.judge("more", "system slides, BiTL / BiSW", "above 1 x", systems[BITL] / systems[RETROACTIVE])
    spread = float(np.median(np.max(runs[RETROACTIVE], axis=0) / np.min(runs[RETROACTIVE], axis=0)))
    record.reason = (
        f"From run to run the slowest step of BiSW takes {times(spread)} the fastest, as the median over steps."
    )


@figure(
    "thesis",
    "5.6",
    "Mean time of a slide at different ratios",
    statement="With any number of application slides for a system slide from 1 to 100, BiSW is best; BiTL is ahead "
    "only without system slides.",
    x=Axis("application slides for each system slide", log=True),
    y=Axis("seconds for a slide", log=True),
    sizes={
        "tiny": (2_000, (1, 4)),
        "small": (40_000, (1, 4, 10, 30, 100)),
        "full": (1_000_000, (1, 2, 4, 10, 20, 50, 100)),
    },
    learned=LEARNED + TREES_KEEP,
)
def ratios(record: Record, size) -> None:
    versions, numbers = size
    data = orders(versions)
    gains, kept = {}, {}
    for number in numbers:
        found = mean_slides(data, data.latest // 2, (1, number), max(200, 2 * (number + 1)), (*PEERS, KEPT))
        for name, seconds in found.items():
            record.point(name, number, seconds)
        gains[number] = min(found[name] for name in PEERS) / found[RETROACTIVE]
        kept[number] = found[KEPT] / found[RETROACTIVE]
    alone = mean_slides(data, data.latest // 2, (0, 1), 200, (BITL,))
    record.checked("what enters and leaves is the same for all")
    worst = min(gains, key=lambda number: gains[number])
    record.judge("more", f"the runner-up / BiSW, the worst ratio (1:{worst})", "above 1 x", gains[worst])
    record.aside(f"{KEPT} / BiSW, the worst ratio", times(min(kept.values())))
    record.judge("conceded", "without system slides, BiSW / BiTL", "above 1 x", alone[RETROACTIVE] / alone[BITL])
