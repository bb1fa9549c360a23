"""Invalid rows on Spark: told to the task that must refuse or drop them, or handed out beside the result."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from timeloom.engines.admission import EMPTY, NULL_START, REMEDY, VALID, Quarantined, judge, reason_texts
from timeloom.engines.spark.admission import Admitted, merge_rejected
from timeloom.engines.spark.ticks import literal
from timeloom.engines.ticks import PeriodTicks, Ticks
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK

_LOG = logging.getLogger("timeloom")

NO_TIME = (FOREVER, MIN_TICK)
"""The ticks of a row outside of a window; it is sent because its group must be known."""


def fault(admitted: Admitted) -> str:
    """A text for an invalid row, in SQL: its verdict, and its period as it was written; null for valid rows."""
    written = ", ".join(
        f"coalesce(CAST({admitted.column(name)} AS STRING), 'null')"
        for name in (admitted.period.start, admitted.period.end)
    )
    text = f"concat(CAST({admitted.verdict} AS STRING), '[', concat_ws(', ', {written}), ']')"
    return f"CASE WHEN {admitted.verdict} <> {VALID} THEN {text} END"


def told_start(admitted: Admitted) -> str:
    """The start of an invalid row, in SQL, such that the row covers no time even if it has no start."""
    return f"coalesce({admitted.columns.start}, {literal(FOREVER)})"


@dataclass(frozen=True)
class Judgement:
    """Refuses or drops invalid rows, which have ticks that cover no time, unlike `NO_TIME`."""

    verb: str
    kind: PeriodTicks
    policy: Policy

    def admitted(self, rows: pa.Table, starts: Ticks, ends: Ticks) -> pa.Table:
        """The rows without the invalid ones."""
        is_invalid = (ends <= starts) & ((starts != NO_TIME[0]) | (ends != NO_TIME[1]))
        if not is_invalid.any():
            return rows
        starts, ends = starts[is_invalid], ends[is_invalid]
        codes = judge(replace(self.kind, starts=starts, ends=ends, null_starts=starts == FOREVER))
        written = self.kind.write_starts(starts).to_pylist(), self.kind.write_ends(ends).to_pylist()
        texts = [
            f"{code}[{'null' if code == NULL_START else start}, {'null' if end is None else end}]"
            for code, start, end in zip(codes.tolist(), *written, strict=True)
        ]
        report(texts, self.kind.period, "input", self.policy, self.verb)
        return rows.filter(pa.array(~is_invalid))


def judged(rows: pa.Table, column: str, period: Period, side: str, policy: Policy, verb: str) -> pa.Table:
    """Refuse invalid rows with one error for all of a task, or leave them out and report it in the task's log."""
    faults = rows[column]
    rest = rows.drop_columns(column)
    if faults.null_count == len(faults):
        return rest
    report(faults.drop_null().to_pylist(), period, side, policy, verb)
    return rest.filter(pc.is_null(faults))


def report(found: Sequence[str], period: Period, side: str, policy: Policy, verb: str) -> None:
    """Raise an error for invalid rows, or report in the task's log that they are dropped."""
    silent = [text for text in found if policy.empty == "drop" and text[0] == str(EMPTY)]
    if policy.on_invalid == "error" and len(silent) < len(found):
        refused = [text for text in found if text not in silent]
        raise InvalidInputError(
            f"in one task of {verb}, {len(refused)} rows of the {side} table have no usable period: "
            f"{_summary(refused, period)}. {REMEDY}"
        )
    _LOG.warning(
        "in one task of %s, dropped %d rows of the %s table: %s", verb, len(found), side, _summary(found, period)
    )


def _summary(faults: Sequence[str], period: Period) -> str:
    parts = []
    for code, reason in reason_texts(period).items():
        shown = sorted(text[1:] for text in faults if text[0] == str(code))
        if shown:
            parts.append(f"{len(shown)} where {reason} ({', '.join(shown[:3])}{', …' if len(shown) > 3 else ''})")
    return "; ".join(parts)


def answer(result: DataFrame, inputs: Sequence[Admitted], policy: Policy) -> Any:
    """Hand out a result, with the rejected rows when they were asked for."""
    if policy.on_invalid != "quarantine":
        return result
    if len(inputs) == 1:
        names = inputs[0].rejected.columns
        unnamed = inputs[0].rejected.toDF("the side", *names[1:])
        return Quarantined(result, unnamed.drop("the side"))
    return Quarantined(result, merge_rejected(inputs[0], inputs[1]))
