"""The types of what measures give, found out on columns without rows."""

import datetime
import decimal
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_type, to_arrow_schema, to_arrow_type
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.measures import evaluate
from timeloom.errors import UsageError
from timeloom.kernels.jit import as_written
from timeloom.model.measures import Measure

PROBES: dict[Callable[[pa.DataType], bool], list[Any]] = {
    pa.types.is_boolean: [True, False],
    pa.types.is_integer: [1, 2],
    pa.types.is_floating: [1.0, 2.0],
    pa.types.is_decimal: [decimal.Decimal(1), decimal.Decimal(2)],
    pa.types.is_string: ["a", "b"],
    pa.types.is_date: [datetime.date(2000, 1, 1), datetime.date(2000, 1, 2)],
    pa.types.is_timestamp: [datetime.datetime(2000, 1, 1), datetime.datetime(2000, 1, 2)],
}
"""Values to try a function on, when only its result can tell its type."""

ANNOTATIONS: dict[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    datetime.date: pa.date32(),
}


def measure_fields(schema: T.StructType, measures: Sequence[Measure]) -> list[T.StructField]:
    """The fields of the result, by computing every measure of no rows: so a bad one is refused at once.

    A measure of its column's type has it as Spark declares it.
    """
    with as_written():
        swept = Sweep.of(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 1)
        return [_field(schema, measure, swept) for measure in measures]


def _field(schema: T.StructType, measure: Measure, swept: Sweep) -> T.StructField:
    column = None if measure.column is None else _empty(schema, measure.column)
    if callable(measure.function):
        assert column is not None
        kind = _called_type(measure, column)
    else:
        kind = evaluate(swept, [measure], column)[measure.name].type
    same = column is not None and kind == column.type
    return T.StructField(measure.name, schema[str(measure.column)].dataType if same else from_arrow_type(kind))


def _empty(schema: T.StructType, name: str) -> pa.Array:
    return pa.array([], to_arrow_schema(T.StructType([schema[name]])).types[0])


def _called_type(measure: Measure, column: pa.Array) -> pa.DataType:
    """What a user's function returns: as it is annotated, or as it answers for two made-up values."""
    assert callable(measure.function)
    try:
        annotated = inspect.signature(measure.function).return_annotation
    except (TypeError, ValueError):
        annotated = None
    if annotated in ANNOTATIONS:
        return ANNOTATIONS[annotated]
    values: list[Any] = next((values for test, values in PROBES.items() if test(column.type)), [])
    try:
        answer = measure.function(pa.array(values, column.type).to_numpy(zero_copy_only=False))
        kind = pa.array([answer.item() if isinstance(answer, np.generic) else answer]).type
        return to_arrow_type(from_arrow_type(kind))
    except Exception as error:
        raise UsageError(
            f"aggregate {measure.name!r}: Spark must know the type of its result beforehand, and its function could "
            f"not be tried on made-up values of {measure.column!r} ({type(error).__name__}: {error}); annotate what "
            "it returns, such as def spread(values) -> float"
        ) from error
