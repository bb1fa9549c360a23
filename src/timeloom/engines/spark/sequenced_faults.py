"""Invalid rows on Spark: told to the task that must refuse or drop them, or handed out beside the result."""

import logging
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from timeloom.engines.admission import EMPTY, VALID, Quarantined, reason_texts
from timeloom.engines.spark.admission import Admitted, merge_rejected
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy

_LOG = logging.getLogger("timeloom")


def fault(admitted: Admitted) -> str:
    """A text for an invalid row, in SQL: its verdict, and its period as it was written; null for valid rows."""
    written = ", ".join(
        f"coalesce(CAST({admitted.column(name)} AS STRING), 'null')"
        for name in (admitted.period.start, admitted.period.end)
    )
    text = f"concat(CAST({admitted.verdict} AS STRING), '[', concat_ws(', ', {written}), ']')"
    return f"CASE WHEN {admitted.verdict} <> {VALID} THEN {text} END"


def judged(rows: pa.Table, column: str, period: Period, side: str, policy: Policy, verb: str) -> pa.Table:
    """Refuse invalid rows with one error for all of a task, or leave them out and report it in the task's log."""
    faults = rows[column]
    rest = rows.drop_columns(column)
    if faults.null_count == len(faults):
        return rest
    found = faults.drop_null().to_pylist()
    silent = [text for text in found if policy.empty == "drop" and text[0] == str(EMPTY)]
    if policy.on_invalid == "error" and len(silent) < len(found):
        refused = [text for text in found if text not in silent]
        raise InvalidInputError(
            f"in one task of {verb}, {len(refused)} rows of the {side} table have no usable period: "
            f"{_summary(refused, period)}. Mend them, or pass on_invalid='quarantine' to get them beside the result or "
            "on_invalid='drop' to leave them out; empty='point' keeps empty periods as single instants"
        )
    _LOG.warning(
        "in one task of %s, dropped %d rows of the %s table: %s", verb, len(found), side, _summary(found, period)
    )
    return rest.filter(pc.is_null(faults))


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
