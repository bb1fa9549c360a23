"""Invalid rows on Spark: told to the task that must refuse or drop them, or handed out beside the result."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.validity import Admitted, merge_rejected
from timeloom.engines.tables.validity import EMPTY, REMEDY, VALID, Quarantined, reason_texts
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK

_LOG = logging.getLogger("timeloom")

FAULT = "fault"
"""The column that tells tasks of invalid rows."""

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


@dataclass(frozen=True)
class Judgement:
    """Refuses or drops the invalid rows of a table, which a column ``fault`` tells apart."""

    verb: str
    period: Period
    policy: Policy

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The rows without the invalid ones, and without the column."""
        return judged(rows, FAULT, self.period, "input", self.policy, self.verb)


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
    outcomes = [policy.for_empty if text[0] == str(EMPTY) else policy.on_invalid for text in found]
    refused = [text for text, what in zip(found, outcomes, strict=True) if what == "error"]
    if refused:
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
        return Quarantined(result, inputs[0].rejected)
    return Quarantined(result, merge_rejected(inputs[0], inputs[1]))
