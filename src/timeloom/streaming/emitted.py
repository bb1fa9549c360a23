"""What a streaming join answers: pairs and single rows that have become certain, and what became of events."""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, KNOWN, STARTING
from timeloom.model.join import choose, join_kind
from timeloom.streaming.deciding import ARRIVALS
from timeloom.streaming.intake import Ids, Refused

HOWS = ("inner", "left", "right", "full", "semi", "anti")
"""The kinds of join, in the order of their codes in the sweep."""


def checked_how(how: str, left: str, right: str) -> str:
    """The kind of join; unknown ones, and unknown kinds of arrival, are refused."""
    choose("left", left, ARRIVALS)
    choose("right", right, ARRIVALS)
    return join_kind(how, HOWS)


class Emitted(NamedTuple):
    """What has become certain: pairs, single rows with their sides; the events refused, and how many were used."""

    lefts: Ids
    rights: Ids
    instants: Ticks
    rows: Ids
    row_instants: Ticks
    row_sides: Ids
    refused: tuple[Refused, ...]
    used: int = 0
    ended: Cells = np.empty((4, 0), np.int64)
    """Of numbered rows that have ended: their sides, their numbers, those of their ends, and when."""


def ended_rows(events: Cells, given: Ids) -> Cells:
    """The numbered rows that end by these events; ``given`` are the numbers of the events."""
    if not given.size:
        return np.empty((4, 0), np.int64)
    over = (events[:, STARTING] == 0) & (events[:, EVENT_HANDLE] >= 0)
    some = events[over]
    return np.stack([some[:, EVENT_SIDE], some[:, EVENT_HANDLE], given[over], some[:, KNOWN]])
