"""Pairs of a join as a picture: the periods of both sides, joined by lines."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.model.period import Period
from timeloom.plots import specs
from timeloom.plots.drawing import Plot
from timeloom.plots.reduction import Times, packed, read_times, shown

Bar = dict[str, Any]


def pairs(table: pa.Table, period: Period, right: Period, size: tuple[str | None, int, int | None]) -> Plot:
    """Draw each period of either side once, and a line for each row."""
    names = " – ".join(period.columns), " – ".join(right.columns)
    sides = [read_times(table, one) for one in (period, right)]
    above, lanes = _bars(sides[0], names[0], 0)
    below, _ = _bars(sides[1], names[1], lanes + 1)
    lines = [
        {"left": _middle(one), "right": _middle(other), "above": one["lane"], "below": other["lane"]}
        for one, other in zip(above, below, strict=True)
    ]
    drawn = [list({id(bar): bar for bar in bars}.values()) for bars in (above, below)]
    told = f"{len(lines):,} pairs of {len(drawn[0]):,} and {len(drawn[1]):,} periods"
    frame = specs.Frame(size[0] or "pairs", told, size[1], size[2])
    return Plot(specs.pairs(frame, drawn[0] + drawn[1], lines, sides[0].axis, names), "pairs")


def _bars(times: Times, side: str, first: int) -> tuple[list[Bar], int]:
    """The bar of each row, the same for equal periods, and how many lanes they take."""
    rows = list(zip(times.starts.tolist(), times.ends.tolist(), strict=True))
    spans = list(dict.fromkeys(rows))
    ticks = np.array(spans, np.int64).reshape(-1, 2)
    lanes = packed(ticks[:, 0], ticks[:, 1])
    places = zip(shown(ticks[:, 0], times.axis), shown(ticks[:, 1], times.axis), lanes, strict=True)
    bars = {
        span: {"side": side, "start": start, "end": end, "lane": first + lane, "period": _told(times, span)}
        for span, (start, end, lane) in zip(spans, places, strict=True)
    }
    return [bars[row] for row in rows], max(lanes, default=-1) + 1


def _told(times: Times, span: tuple[int, int]) -> str:
    return " – ".join(times.kind.shown(at) for at in span)


def _middle(bar: Bar) -> float:
    return float(bar["start"] + bar["end"]) / 2
