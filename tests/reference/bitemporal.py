"""Bitemporal sliding windows by definition: every row against every window, in plain Python.

A row is (app_start, app_end, sys_start, sys_end), half-open on both axes, None for an open end. A window is the pair of
its first and last instant, both included.
"""

from itertools import product

ONE = ("snapshot", "visible", "began")
MEANINGS = (*ONE, *product(ONE, ONE))


def window_sequence(sys, app, ratio, steps):
    """The windows of all steps. ``sys`` and ``app`` are (start, range, slide, start_slide)."""
    (s0, sr, sp, ssp), (a0, ar, ap, asp) = sys, app
    current = [[s0, s0 + sr], [a0, a0 + ar]]
    sequence = [(tuple(current[0]), tuple(current[1]))]
    turns = ["sys"] * ratio[0] + ["app"] * ratio[1]
    for step in range(steps):
        axis, pace, start_pace = (0, sp, ssp) if turns[step % len(turns)] == "sys" else (1, ap, asp)
        current[axis][0] += start_pace
        current[axis][1] += pace
        sequence.append((tuple(current[0]), tuple(current[1])))
    return sequence


def holds(start, end, instant):
    return start <= instant and (end is None or instant < end)


def is_inside(row, sys, app, meaning):
    app_start, app_end, sys_start, sys_end = row
    if sys_start == sys_end or app_start == app_end:
        return False
    sys_meaning, app_meaning = (meaning, meaning) if isinstance(meaning, str) else meaning
    return _is_inside_axis(sys_start, sys_end, sys, sys_meaning) and _is_inside_axis(
        app_start, app_end, app, app_meaning
    )


def _is_inside_axis(start, end, window, meaning):
    first, last = window
    if meaning == "snapshot":
        return holds(start, end, last)
    if meaning == "visible":
        return any(holds(start, end, t) for t in range(first, last + 1))
    return first <= start <= last


def valid_rows(rows, sys, app, meaning="snapshot"):
    return [number for number, row in enumerate(rows) if is_inside(row, sys, app, meaning)]


def slide_query(rows, sys, app, ratio, steps, meaning="snapshot"):
    """One (entered, left, valid) per step, as lists of row numbers."""
    answers, before = [], []
    for window in window_sequence(sys, app, ratio, steps):
        now = valid_rows(rows, *window, meaning)
        answers.append(([r for r in now if r not in before], [r for r in before if r not in now], now))
        before = now
    return answers


def change_portion(facts, key, portion, replacement):
    """Apply an update (replacement is a value) or delete (replacement is None) to a portion of application time."""
    low, high = portion
    result = []
    for fact in facts:
        fact_key, value, start, end = fact
        begin = start if low is None else max(start, low)
        stop = end if high is None else (high if end is None else min(end, high))
        if fact_key != key or (stop is not None and begin >= stop):
            result.append(fact)
            continue
        if start < begin:
            result.append((key, value, start, begin))
        if replacement is not None:
            result.append((key, replacement, begin, stop))
        if stop is not None and (end is None or stop < end):
            result.append((key, value, stop, end))
    return result


class BitemporalModel:
    """A bitemporal table by definition: what is believed at each system time, as a list of facts.

    A fact is (key, value, app_start, app_end). The history is what a reader could ever have seen: for each system time
    at which anything changed, the facts believed from then on until the next change.
    """

    def __init__(self):
        self.believed = {}

    def copy(self):
        other = BitemporalModel()
        other.believed = {sys: list(facts) for sys, facts in self.believed.items()}
        return other

    @property
    def latest(self):
        return max(self.believed, default=None)

    def at(self, sys):
        times = [time for time in self.believed if time <= sys]
        return self.believed[max(times)] if times else []

    def change(self, sys, facts):
        """Believe these facts from a system time on; what was believed at that time before was never seen."""
        self.believed[sys] = facts

    def insert(self, sys, fact):
        self.change(sys, [*self.at(sys), fact])

    def replace(self, sys, key, portion, value):
        """Update (value) or delete (None) a portion; False if there is nothing to change."""
        changed = change_portion(self.at(sys), key, portion, value)
        touched = [fact for fact in self.at(sys) if fact[0] == key and _overlaps(fact, portion)]
        if touched:
            self.change(sys, changed)
        return bool(touched)


def _overlaps(fact, portion):
    _, _, start, end = fact
    low, high = portion
    return (high is None or start < high) and (low is None or end is None or low < end)
