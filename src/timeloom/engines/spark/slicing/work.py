"""How much work the rows of a sample stand for, without what is likely to be chance."""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Parts = NDArray[np.float64]

PAIRS_PER_ROW = 20.0
"""A row that is sent to a task costs about as much as so many pairs that come back."""

BLOCK, ROOTS = 8, 32
"""Blocks have so many sampled rows at least, as errors of smaller numbers are far from normal; and there are no more
than so many times the root of the rows, as more take time: 8 of 700 rows for a slice are one, 140 of 2,000."""

AT_ONCE = 1 << 13
"""Rows of so many blocks are looked at together: those of all would take as much memory as the sample."""

TURNS, GOLDEN = 8, (5**0.5 - 1) / 2
"""So many times blocks are put into pairs, each time beginning elsewhere: multiples of the other are spread evenly. A
step that lies badly in one of them does not in the others."""

MOST_ROWS = 8
"""A task holds its rows: rows with few pairs count for so much that none has more than so many times the mean."""

ROUNDS = 12
"""After so many the share of the differences that are there is as good as found."""

NOTHING = 1e-9
"""A variance like this is the rounding of numbers."""


def work(low: NDArray[np.int64], high: NDArray[np.int64], counts: Parts, *, exact: bool = False) -> Parts:
    """How much work each sampled row stands for: so many rows, and their pairs with those that are present with them.

    Half of these are of the other side. Rows are in order of their first ticks. If ``exact``, only whole numbers are
    added up on the way.
    """
    weights = None if exact else evened(low, high, counts)
    if weights is None:
        present = _before(low, counts, low, "right") - _before(high, counts, low, "left")
        weights = counts * (PAIRS_PER_ROW + present / 2)
    return weights


def _before(
    points: NDArray[np.int64], counts: Parts, ticks: NDArray[np.int64], side: Literal["left", "right"]
) -> Parts:
    """How many rows have their points before each tick, or there as well."""
    if points is not ticks:
        order = np.argsort(points)
        points, counts = points[order], counts[order]
    totals: Parts = np.concatenate([[0.0], np.cumsum(counts)])
    return totals[np.searchsorted(points, ticks, side=side)]


def evened(low: NDArray[np.int64], high: NDArray[np.int64], counts: Parts) -> Parts | None:
    """The work of sampled rows, if rates change no more than the sample tells.

    Where few sampled rows meet each other, to count who does tells little, and each would meet itself. So rows, in
    order of their first ticks, are taken in blocks: how long one lasts tells how many rows begin in a tick, how much
    time rows last in it how many are present. None if blocks would have no rows or no time, or if the sample has all
    rows.
    """
    levels = (low.size // max(BLOCK, math.isqrt(low.size) // ROOTS)).bit_length() - 1
    if levels < 1 or int(low[-1]) - int(low[0]) >= 2**63 or counts.max() <= 1:
        return None
    edges = (np.arange(2**levels) * low.size) >> levels
    spans = np.diff(low[edges], append=max(low[-1], low[edges[-1]] + 1)).astype(np.float64)
    if not spans.all():
        return None
    rows = np.add.reduceat(counts, edges)
    work_in_blocks = _smoothed(*_rates(low, high, counts, edges, spans, rows)) * spans
    each = np.maximum(work_in_blocks / rows, work_in_blocks.sum() / rows.sum() / MOST_ROWS)
    found: Parts = counts * np.repeat(each, np.diff(edges, append=low.size))
    return found


def _rates(
    low: NDArray[np.int64], high: NDArray[np.int64], counts: Parts, edges: NDArray[np.int64], spans: Parts, rows: Parts
) -> tuple[Parts, Parts]:
    """Of each block, what `_halved` takes: for rows that begin in a tick, and for what a row of it costs.

    A sampled row that stands for c of them errs by c (c - 1), squared. Its time errs with all of its length, but not
    with more than that of the blocks it is looked for in. What rows cost counts by rows, not by time: bursts of equal
    rows are alike, however long it is quiet between them.
    """
    (_, begun, _), (present, most, errors) = _lasting(low, high, counts, edges)
    begin = np.stack([rows, spans, begun, np.full(rows.size, np.inf), spans])
    rates = rows / spans
    costs = rates * (PAIRS_PER_ROW * spans + present / 2)
    return begin, np.stack([costs, rows, rates**2 * errors / 4, rates**2 * most / 4, spans])


def _lasting(low: NDArray[np.int64], high: NDArray[np.int64], counts: Parts, edges: NDArray[np.int64]) -> Parts:
    """Of each block, which ends where the next begins, what begins in it, and that by the time that it lasts there.

    That is what rows count, by how much it errs, and so much for each tick of their lengths.
    """
    ends = np.append(low[edges[1:]], max(low[-1], low[edges[-1]] + 1))
    bounds = np.append(edges, low.size)
    begun, gone, lasting = np.zeros((3, 3, ends.size))
    for first in range(0, ends.size, AT_ONCE):
        blocks = slice(first, first + AT_ONCE)
        mine = slice(bounds[first], bounds[min(first + AT_ONCE, ends.size)])
        at = edges[blocks] - edges[first]
        until = np.repeat(ends[blocks], np.diff(bounds[first : first + AT_ONCE + 1])) - low[mine]
        last = np.minimum(high[mine], ends[-1] - 1)
        block = np.searchsorted(ends, last, side="right")
        chance = counts[mine] * (counts[mine] - 1)
        for number, each in enumerate((counts[mine], chance, chance * (last - low[mine]))):
            begun[number, blocks] = np.add.reduceat(each, at)
            gone[number] += np.bincount(block, each, ends.size)
            lasting[number, blocks] += np.add.reduceat(each * until, at)
            lasting[number] -= np.bincount(block, each * (ends[block] - last), ends.size)
    lasting[:, 1:] += np.cumsum(begun - gone, axis=1)[:, :-1] * np.diff(ends)
    return np.stack([begun, lasting])


def _smoothed(*rates: Parts) -> Parts:
    """The product of rates in each block: the mean of what comes out if pairs of blocks begin at one or another."""
    blocks = rates[0].shape[1]
    by = (blocks * (np.arange(TURNS) * GOLDEN % 1)).astype(np.int64)[:, None]
    there, back = ((np.arange(blocks) + sign * by) % blocks for sign in (1, -1))
    turned = _halved(np.concatenate([rate[:, there] for rate in rates], axis=1))
    logs = np.take_along_axis(turned, np.tile(back, (len(rates), 1)), axis=1)
    found: Parts = np.exp(logs.sum(axis=0) / TURNS)
    return found


def _halved(blocks: Parts) -> Parts:
    """The logarithms of the rates of blocks, without what is likely to be chance; of each turn for itself.

    Blocks are halves of pairs, these of pairs of pairs, and so on. From the whole down, the rates of two halves differ
    by as much of what is seen as is likely to be there, and make up that of both. Of each block there is an amount, in
    what it is counted, the variance of the amount, and the most that this can be in a tick, of so many ticks.
    """
    levels = [blocks]
    while levels[-1].shape[2] > 1:
        levels.append(levels[-1][..., ::2] + levels[-1][..., 1::2])
    rates: Parts = np.log(levels[-1][0] / levels[-1][1])
    halves = (level.reshape(*level.shape[:2], -1, 2) for level in reversed(levels[:-1]))
    for amounts, units, errors, most, spans in halves:
        apart = np.diff(np.log(amounts / units))[..., 0]
        chance = (np.minimum(errors, most * spans) / amounts**2).sum(axis=-1)
        apart *= likely(apart**2, chance)
        first = rates + np.log(units.sum(axis=-1) / (units[..., 0] + units[..., 1] * np.exp(apart)))
        rates = np.stack([first, first + apart], axis=-1).reshape(len(first), -1)
    return rates


def likely(squares: Parts, chance: Parts) -> Parts:
    """Which part of each difference is likely to be there, of so many that have these squares and variances by chance.

    Some differences are 0, the others may have any size: quasi-Cauchy, as Johnstone and Silverman have it ("Needles and
    straw in haystacks", 2004). The share of the others is the one that makes what is seen likeliest.
    """
    u = (squares / np.maximum(2 * chance, NOTHING)).clip(1e-6, 600.0)
    least = 1 / (2 * u.shape[-1])
    odds = np.expm1(u) / (2 * u)
    share, there = np.full((*u.shape[:-1], 1), 0.5), odds
    for _ in range(ROUNDS):
        odds_there = share * odds
        there = odds_there / (1 - share + odds_there)
        share = there.mean(axis=-1, keepdims=True).clip(least, 1 - least)
    found: Parts = there * (1 / -np.expm1(-u) - 1 / u)
    return found
