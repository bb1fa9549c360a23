"""Rows with a period as a table has them, over Python ints: verdicts, ticks, and how ticks are written."""

INF = 10**30
"""The end of an open period."""

START_SHIFT = {"left": 0, "both": 0, "right": 1, "neither": 1}
END_SHIFT = {"left": 0, "both": 1, "right": 1, "neither": 0}


class Refused(Exception):
    """A row that is an error."""


def half_open(raw, closed, sentinel=None):
    """(start, end) of a row with a start; the end of an open one is INF."""
    start, end = raw
    is_open = end is None or end == sentinel
    return start + START_SHIFT[closed], INF if is_open else end + END_SHIFT[closed]


def verdict(raw, closed, sentinel=None):
    if raw[0] is None:
        return "null start"
    start, end = half_open(raw, closed, sentinel)
    if raw[1] is not None and raw[1] != sentinel and raw[1] < raw[0]:
        return "reversed"
    return "empty" if end <= start else "valid"


def admitted(rows, closed, on_invalid, empty, sentinel=None):
    """Positions with half-open periods of the rows that take part; positions that are dropped, and quarantined."""
    kept, dropped, quarantined = [], [], []
    for at, raw in enumerate(rows):
        found = verdict(raw, closed, sentinel)
        outcome = {"valid": "take", "empty": empty or on_invalid}.get(found, on_invalid)
        if outcome == "error":
            raise Refused(found)
        if outcome == "point":
            start, _ = half_open(raw, closed, sentinel)
            kept.append((at, (start, start + 1)))
        elif outcome == "take":
            kept.append((at, half_open(raw, closed, sentinel)))
        else:
            (dropped if outcome == "drop" else quarantined).append(at)
    return kept, dropped, quarantined


def written(piece, closed, sentinel=None):
    """A half-open period as its columns say it."""
    start, end = piece
    return start - START_SHIFT[closed], sentinel if end == INF else end - END_SHIFT[closed]


class Ranks:
    """Ticks as small numbers in the same order, over which instants can be listed one by one."""

    def __init__(self, *tables):
        self.ticks = sorted({tick for rows in tables for row in rows for tick in row})

    def of(self, rows):
        return [(self.ticks.index(start), self.ticks.index(end)) for start, end in rows]

    def back(self, start, end):
        return self.ticks[start], self.ticks[end]
