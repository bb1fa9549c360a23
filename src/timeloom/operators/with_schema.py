"""`with_schema`: a DataFrame whose columns are told, where Spark may not be asked for them."""

from typing import Any

from timeloom.engines.tables.marks import is_spark
from timeloom.errors import UsageError, shown


def with_schema(df: Any, schema: Any) -> Any:
    """Tell the columns of a DataFrame, so that verbs need not ask Spark for them.

    In dataset functions of Spark Declarative Pipelines nothing may be analysed; a verb there takes tables whose columns
    were told. Nothing runs.

    Parameters
    ----------
    df
        A Spark DataFrame, classic or Connect.
    schema
        A ``StructType``, a ``pyarrow.Schema``, or a text of names and plain types, such as
        ``"who string, start timestamp, end timestamp"``.

    Returns
    -------
    These columns, in this order, cast to these types. A column that is missing, or a value that cannot be cast, is an
    error when the pipeline runs. Other columns are left out.

    Examples
    --------
    .. code-block:: python

        @dp.materialized_view
        def answered():
            shifts = tl.with_schema(spark.read.table("shifts"), "who string, start timestamp, end timestamp")
            calls = tl.with_schema(spark.read.table("calls"), "call int, start timestamp, end timestamp")
            return tl.join(shifts, calls, "contains")
    """
    if not is_spark(df):
        raise UsageError(f"with_schema takes a Spark DataFrame, not a {type(df).__name__}, which knows its columns")
    from timeloom.engines.spark.cluster.pipelines import told

    return told(df, _struct(schema))


def _struct(schema: Any) -> Any:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from timeloom.engines.spark.cluster.schema_texts import schema_of
    from timeloom.engines.spark.cluster.versions import from_arrow_schema

    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, pa.Schema):
        return from_arrow_schema(schema)
    if isinstance(schema, str):
        return schema_of(schema)
    raise UsageError(
        f"schema={shown(schema)} is of type {type(schema).__name__}; expected a StructType, a pyarrow.Schema, or a "
        "text such as 'who string, start timestamp'"
    )
