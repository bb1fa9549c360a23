"""Keys and ids of any type as text, in SQL, and back: exact, whatever the session's zone and the way of the rows.

Equal values have equal texts: 0.0 and -0.0 are one key, and so are all NaNs.
"""

from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.spark.columns.ticks import column_ticks
from timeloom.errors import InvalidInputError
from timeloom.model.ticks import Axis

NOTHING = "-"
"""The text of a null among the parts of a key; no value has it."""

PLAIN = (T.BooleanType, T.IntegralType, T.DecimalType)
"""Types whose values survive a cast to text and back."""

INSTANTS = {
    Axis.ZONED: "timestamp_micros({})",
    Axis.TIMESTAMP: "timestampadd(MICROSECOND, {}, TIMESTAMP_NTZ '1970-01-01 00:00:00')",
}
"""How ticks become instants again."""


def encoded(column: str, kind: T.DataType, what: str) -> str:
    """The text of a column's values; null where they are."""
    if isinstance(kind, PLAIN):
        return f"CAST({column} AS STRING)"
    if isinstance(kind, T.FractionalType):
        return f"CAST(CASE WHEN {column} = 0 THEN 0 ELSE {column} END AS STRING)"
    if isinstance(kind, T.StringType | T.BinaryType):
        return f"hex({column})"
    if isinstance(kind, T.DateType):
        return f"CAST(unix_date({column}) AS STRING)"
    for time, axis in ((T.TimestampType, Axis.ZONED), (T.TimestampNTZType, Axis.TIMESTAMP)):
        if isinstance(kind, time):
            return f"CAST({column_ticks(column, axis)} AS STRING)"
    raise InvalidInputError(
        f"{what} is {kind.simpleString()}; expected booleans, numbers, text, bytes, dates or timestamps: cast it"
    )


def decoded(text: str, kind: T.DataType) -> str:
    """The values of a text in the type that they had."""
    if isinstance(kind, T.StringType | T.BinaryType):
        return f"CAST(unhex({text}) AS {kind.simpleString()})"
    if isinstance(kind, T.DateType):
        return f"date_from_unix_date(CAST({text} AS INT))"
    for time, axis in ((T.TimestampType, Axis.ZONED), (T.TimestampNTZType, Axis.TIMESTAMP)):
        if isinstance(kind, time):
            return INSTANTS[axis].format(f"CAST({text} AS BIGINT)")
    return f"CAST({text} AS {kind.simpleString()})"


def whole_key(columns: list[str], kinds: list[T.DataType], what: list[str]) -> str:
    """All key columns as one text; without any it is empty."""
    parts = [
        f"coalesce({encoded(column, kind, one)}, '{NOTHING}')"
        for column, kind, one in zip(columns, kinds, what, strict=True)
    ]
    return f"concat_ws(',', {', '.join(parts)})" if parts else "''"


def key_part(text: str, number: int, kind: T.DataType) -> str:
    """One column of a key that was written as text."""
    return decoded(f"nullif(split({text}, ',')[{number}], '{NOTHING}')", kind)
