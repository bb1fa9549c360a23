"""Invalid rows on Spark: told to the task that must refuse or drop them, or handed out beside the result."""

import json
import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.validity import JudgedFrame, merge_rejected
from timeloom.engines.tables.validity import Admitted as AdmittedTable
from timeloom.engines.tables.validity import Quarantined, admit
from timeloom.engines.tables.verdicts import (
    REFUSED,
    VALID,
    faults,
    in_one_task,
    outcome,
    reason_in_sql,
    reason_texts,
    refusal,
    written,
)
from timeloom.errors import DroppedRowsWarning, InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK

_LOG = logging.getLogger("timeloom")

FAULT = "fault"
"""The column that tells tasks of invalid rows: a JSON text with these fields, or null.

Spark's Arrow writer, which asks for the size of all columns after every row, takes three times as long for a struct.
"""

_PLAIN = re.compile(r"[\w ,.:;()\[\]=-]*", re.ASCII)
"""Texts that mean what they say in SQL, whatever the settings."""

VERDICT, START, END = "verdict", "start", "end"

TOLD = pa.struct([(VERDICT, pa.int8()), (START, pa.string()), (END, pa.string())])
"""What is known of invalid rows."""

NO_TIME = (FOREVER, MIN_TICK)
"""The ticks of a row outside of a window; it is sent because its group must be known."""


def fault(frame: JudgedFrame) -> str:
    """What is told of an invalid row, in SQL: its verdict, and its period as it was written; null for valid rows."""
    start, end = map(frame.column, (frame.period.start, frame.period.end))
    told = {VERDICT: frame.verdict, START: f"CAST({start} AS STRING)", END: f"CAST({end} AS STRING)"}
    struct = ", ".join(f"'{name}', {value}" for name, value in told.items())
    return f"CASE WHEN {frame.verdict} <> {VALID} THEN to_json(named_struct({struct})) END"


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
    found = rows[column]
    rest = rows.drop_columns(column)
    if found.null_count == len(found):
        return rest
    told = pa.array([json.loads(text) for text in found.drop_null().to_pylist()], TOLD)
    report(told, period, side, policy, verb)
    return rest.filter(pc.is_null(found))


def report(found: pa.StructArray, period: Period, side: str, policy: Policy, verb: str) -> None:
    """Raise an error for invalid rows, or report in the task's log that they are dropped."""
    verdicts = np.asarray(found.field(VERDICT))
    refused = outcome(verdicts, policy) == REFUSED
    if refused.any():
        told = refusal(f"{int(refused.sum())} rows", side, _summary(found.filter(pa.array(refused)), period))
        raise InvalidInputError(in_one_task(verb, told))
    told = f"dropped {len(found)} rows of the {side} table: {_summary(found, period)}"
    _LOG.warning("%s", in_one_task(verb, told))


def _summary(found: pa.StructArray, period: Period) -> str:
    """All faults. Rows come in any order, so that the first by their texts are shown."""

    def shown(rows: NDArray[np.int64]) -> list[str]:
        periods = (found.field(name).take(pa.array(rows)).fill_null("null").to_pylist() for name in (START, END))
        return sorted(written(*period) for period in zip(*periods, strict=True))

    return faults(np.asarray(found.field(VERDICT)), period, shown)


def admitted_in_task(table: pa.Table, period: Period, side: str, policy: Policy, verb: str) -> AdmittedTable:
    """Judge the rows of a task by their periods: invalid ones are refused, or dropped and reported in its log."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DroppedRowsWarning)
            found = admit(table, period, side, policy)
    except InvalidInputError as error:
        raise InvalidInputError(in_one_task(verb, str(error))) from None
    for warning in caught:
        _LOG.warning("%s", in_one_task(verb, str(warning.message)))
    return found


def refused_in_sql(frame: JudgedFrame) -> str:
    """An error for an invalid row, in SQL. It is the first of its task: nobody has seen the others."""
    return f"raise_error({told_in_sql(frame)})"


def told_in_sql(frame: JudgedFrame) -> str:
    """What is told of an invalid row, in SQL."""
    period, ticks = frame.period, frame.columns
    texts = {verdict: text_in_sql(text) for verdict, text in reason_texts(period).items()}
    reason = reason_in_sql(ticks.start, ticks.raw_start, ticks.raw_end, frame.policy, period, texts)
    shown = [_shown(frame, name) for name in (period.start, period.end)]
    told = refusal("at least 1 row", frame.side, f"1 where %s ({written('%s', '%s')})")
    return f"format_string({text_in_sql(told)}, {', '.join([reason, *shown])})"


def _shown(frame: JudgedFrame, name: str) -> str:
    """A column as it is shown, in SQL; whole numbers need no cast."""
    column = frame.column(name)
    return column if isinstance(frame.schema[name].dataType, T.LongType) else f"CAST({column} AS STRING)"


def text_in_sql(text: str) -> str:
    """A text in SQL. What settings of the session may give another meaning is written as bytes."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex()}' AS STRING)"


def answer(result: DataFrame, inputs: Sequence[JudgedFrame], policy: Policy) -> Any:
    """Hand out a result, with the rejected rows when they were asked for."""
    if policy.on_invalid != "quarantine":
        return result
    if len(inputs) == 1:
        return Quarantined(result, inputs[0].rejected)
    return Quarantined(result, merge_rejected(inputs[0], inputs[1]))
