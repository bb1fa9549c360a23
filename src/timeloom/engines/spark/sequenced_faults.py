"""Invalid rows on Spark: told to the task that must refuse them, or handed out beside the result."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.admission import VALID, Quarantined, reason_texts
from timeloom.engines.spark.admission import Admitted
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy


def fault(admitted: Admitted) -> str:
    """A text for an invalid row, in SQL: its verdict, and its period as it was written; null for valid rows."""
    written = ", ".join(
        f"coalesce(CAST({admitted.column(name)} AS STRING), 'null')"
        for name in (admitted.period.start, admitted.period.end)
    )
    text = f"concat(CAST({admitted.verdict} AS STRING), '[', concat_ws(', ', {written}), ']')"
    return f"CASE WHEN {admitted.verdict} <> {VALID} THEN {text} END"


def refuse(faults: pa.ChunkedArray, period: Period, side: str, verb: str) -> None:
    """Raise one error for all invalid rows of a task, if there are any."""
    found = faults.drop_null().to_pylist()
    if not found:
        return
    parts = []
    for code, reason in reason_texts(period).items():
        shown = sorted(text[1:] for text in found if text[0] == str(code))
        if shown:
            parts.append(f"{len(shown)} where {reason} ({', '.join(shown[:3])}{', …' if len(shown) > 3 else ''})")
    raise InvalidInputError(
        f"in one task of {verb}, {len(found)} rows of the {side} table have no usable period: {'; '.join(parts)}. "
        "Mend them, or pass on_invalid='quarantine' to get them beside the result or on_invalid='drop' to leave them "
        "out; empty='point' keeps empty periods as single instants"
    )


def answer(result: DataFrame, inputs: Sequence[Admitted], policy: Policy) -> Any:
    """Hand out a result, with the rejected rows when they were asked for."""
    if policy.on_invalid != "quarantine":
        return result
    if len(inputs) == 1:
        return Quarantined(result, rejected(inputs[0]))
    return Quarantined(result, merged_rejected(inputs[0], inputs[1]))


def rejected(admitted: Admitted) -> DataFrame:
    """The invalid rows under their own names, with a reason."""
    texts = reason_texts(admitted.period)
    name = "reason"
    while name in admitted.schema.names:
        name += "_"
    refused = admitted.all_rows.where(f"{admitted.verdict} <> {VALID}")
    cases = F.create_map(*(F.lit(part) for item in texts.items() for part in item))
    return refused.select("*", cases[F.expr(admitted.verdict)].alias(name)).toDF(*admitted.schema.names, name)


def merged_rejected(left: Admitted, right: Admitted) -> DataFrame:
    """The invalid rows of both inputs, told apart by a first column ``side``."""
    first, second = rejected(left), rejected(right)
    kinds = {field.name: field.dataType for field in left.schema}
    for field in right.schema:
        if field.name in kinds and kinds[field.name] != field.dataType:
            second = second.withColumnRenamed(field.name, f"{field.name}_right")
    parts = [rows.select(F.lit(side).alias("side"), "*") for side, rows in (("left", first), ("right", second))]
    return parts[0].unionByName(parts[1], allowMissingColumns=True)
