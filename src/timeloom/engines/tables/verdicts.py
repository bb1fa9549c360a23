"""What is found of a row's period: the verdict in arrays and the same verdict in SQL, side by side, and its wording.

Whoever judges rows, on whatever engine, does it here. ``tests/engines/spark/test_judgement.py`` compares the two.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import PeriodTicks, Ticks
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MAX_TICK

Verdicts = NDArray[np.int8]

VALID, NULL_START, REVERSED, EMPTY, LAST = range(5)
"""What is found of a row; a point at the last tick cannot end, since ends are exclusive."""

KEPT, REFUSED, DROPPED, QUARANTINED = range(4)
"""What becomes of a row."""

REMEDY = (
    "Mend them, or pass on_invalid='quarantine' to get them beside the result or on_invalid='drop' to leave them out; "
    "empty='point' keeps empty periods as single instants, empty='drop' leaves only them out"
)
"""What can be done about invalid rows where there are options for them."""

REMEDY_WITHOUT_OPTIONS = "Mend them, or leave them out before; tl.check lists them"
"""What can be done elsewhere."""

EXAMPLES = 3
"""So many rows of a kind are shown."""


def judge(ticks: PeriodTicks, policy: Policy) -> tuple[Ticks, Verdicts]:
    """Give each row its verdict: VALID, or the first reason that speaks against it; and the end that it has then."""
    starts, ends = ticks.starts, ticks.ends
    verdict = np.zeros(starts.size, np.int8)
    unusable = ends <= starts
    if not unusable.any() and not ticks.null_starts.any():
        return ends, verdict
    verdict[unusable] = LAST if ticks.period.is_instant else EMPTY
    verdict[ticks.raw_ends < ticks.raw_starts] = REVERSED
    verdict[ticks.null_starts] = NULL_START
    if policy.empty != "point":
        return ends, verdict
    points = verdict == EMPTY
    verdict[points] = np.where(starts[points] < MAX_TICK, VALID, LAST)
    return np.where(points & (verdict == VALID), starts + points, ends), verdict


def judge_in_sql(
    start: str, end: str, raw_start: str, raw_end: str, policy: Policy, *, instants: bool = False
) -> tuple[str, str]:
    """The same in SQL: the end that a row has, and its verdict. Raw ticks are those before ``closed`` shifts them."""
    reasons = f"WHEN {start} IS NULL THEN {NULL_START} WHEN {raw_end} < {raw_start} THEN {REVERSED}"
    unusable = f"{end} <= {start}"
    if instants:
        return end, f"(CASE {reasons} WHEN {unusable} THEN {LAST} ELSE {VALID} END)"
    if policy.empty != "point":
        return end, f"(CASE {reasons} WHEN {unusable} THEN {EMPTY} ELSE {VALID} END)"
    last = f"{start} = {MAX_TICK}L"
    verdict = f"(CASE {reasons} WHEN {unusable} AND {last} THEN {LAST} ELSE {VALID} END)"
    return f"CASE WHEN {unusable} AND {raw_end} >= {raw_start} AND NOT {last} THEN {start} + 1L ELSE {end} END", verdict


def unusable_in_sql(start: str, end: str) -> str:
    """Whether a row's verdict is another than VALID, from its start and the end that it has: cheap where both stand."""
    return f"{start} IS NULL OR {end} <= {start}"


def never_point_in_sql(start: str, raw_start: str, raw_end: str) -> str:
    """Whether a row that covers no time is invalid where empty periods are points, or may be left out."""
    return f"{start} IS NULL OR {raw_end} < {raw_start} OR {start} = {MAX_TICK}L"


def reason_in_sql(
    start: str, raw_start: str, raw_end: str, policy: Policy, period: Period, texts: dict[int, str]
) -> str:
    """The text, in SQL, for the verdict of an invalid row."""
    rest = LAST if period.is_instant or policy.empty == "point" else EMPTY
    reasons = f"WHEN {start} IS NULL THEN {texts[NULL_START]} WHEN {raw_end} < {raw_start} THEN {texts[REVERSED]}"
    return f"CASE {reasons} ELSE {texts[rest]} END"


def outcome(verdict: Verdicts, policy: Policy) -> Verdicts:
    """What becomes of each row."""
    codes = {"error": REFUSED, "drop": DROPPED, "quarantine": QUARANTINED, "point": KEPT}
    invalid = np.where(verdict == EMPTY, codes[policy.for_empty], codes[policy.on_invalid])
    return np.where(verdict == VALID, KEPT, invalid).astype(np.int8)


def quarantined_in_sql(verdict: str, policy: Policy) -> str:
    """Whether a row is handed out beside the result."""
    others = [VALID] if policy.for_empty == "quarantine" else [VALID, EMPTY]
    return f"{verdict} NOT IN ({', '.join(map(str, others))})"


def reason_texts(period: Period) -> dict[int, str]:
    """What each verdict says to the user."""
    if len(period.columns) == 1:
        kind = "null" if period.form in ("plain", "interval") else f"no {period.form} with a lower bound"
        return {
            NULL_START: f"{period.start} is {kind}",
            REVERSED: f"{period.start} ends before it starts",
            EMPTY: f"the period {period.start} is empty",
            LAST: f"{period.start} is the last tick of all, after which no point can end",
        }
    return {
        NULL_START: f"{period.start} is null",
        REVERSED: f"{period.end} is before {period.start}",
        EMPTY: f"the period is empty: {period.start} equals {period.end}",
        LAST: f"{period.start} is the last tick of all, after which no point can end",
    }


def faults(verdict: Verdicts, period: Period, shown: Callable[[NDArray[np.int64]], Sequence[str]]) -> str:
    """How many rows have which fault, with the first of them; ``shown`` gives the texts of rows, in their order."""
    parts = []
    for code, reason in reason_texts(period).items():
        rows = np.flatnonzero(verdict == code)
        if rows.size:
            texts = ", ".join(shown(rows)[:EXAMPLES])
            parts.append(f"{rows.size} where {reason} ({texts}{', …' if rows.size > EXAMPLES else ''})")
    return "; ".join(parts)


def written(*ends: object) -> str:
    """A period as it was written: in two columns, or in one."""
    return f"[{', '.join(map(str, ends))}]"


def refusal(count: str, side: str, found: str, remedy: str = REMEDY) -> str:
    """Say that rows of a table are refused, for these faults."""
    return (
        f"{count} of the {side} table {'has' if count.endswith(' row') else 'have'} no usable period: {found}. {remedy}"
    )


def dropping(verdict: Verdicts, side: str) -> str:
    """Say that rows of a table are dropped."""
    words = {
        NULL_START: "with a null start",
        REVERSED: "with an end before the start",
        EMPTY: "with an empty period",
        LAST: "with a point at the last tick",
    }
    counts = [f"{int((verdict == code).sum())} {text}" for code, text in words.items() if (verdict == code).any()]
    return f"dropped {int((verdict != VALID).sum())} of {verdict.size} rows of the {side} table: {', '.join(counts)}"


def in_one_task(verb: str, told: str) -> str:
    """Say that this is one task's view: it knows of its own rows only."""
    return f"in one task of {verb}, {told}"
