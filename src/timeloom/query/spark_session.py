"""Spark SQL as the engine over DataFrames. Nothing runs, and no view is left behind: a query carries its DataFrames."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DateType, TimestampType

from timeloom.query.pieces import Sql
from timeloom.query.session import Locate

_PLACE = re.compile(r"\(line (\d+), (?:pos|position) (\d+)\)|line (\d+),? pos(?:ition)? (\d+)")


class SparkSqlSession:
    """DataFrames named in one query."""

    engine = "spark"
    dry = False

    def __init__(self, spark: Any, prefix: str, locate: Locate) -> None:
        self._spark = spark
        self._prefix = prefix
        self._locate = locate
        self._frames: dict[str, DataFrame] = {}

    def quote(self, name: str) -> str:
        """A name in backticks."""
        return self.plain("`" + name.replace("`", "``") + "`")

    def text(self, value: str) -> str:
        """A text in single quotes; Spark knows escapes."""
        return self.plain("'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'")

    def plain(self, words: str) -> str:
        """Braces name DataFrames, so the user's own are doubled."""
        return words.replace("{", "{{").replace("}", "}}")

    def add(self, frame: DataFrame) -> str:
        """Name a DataFrame."""
        name = f"{self._prefix}{len(self._frames) + 1}"
        self._frames[name] = frame
        return f"{{{name}}}"

    def run(self, sql: Sql) -> DataFrame:
        """A DataFrame of a query."""
        text = str(sql)
        used = {name: frame for name, frame in self._frames.items() if f"{{{name}}}" in text}
        try:
            frame: DataFrame = self._spark.sql(text if used else text.replace("{{", "{").replace("}}", "}"), **used)
            frame.schema  # noqa: B018  Connect analyses here
            return frame
        except PySparkException as error:
            raise self._error(sql, error) from error

    def columns(self, sql: Sql) -> list[str]:
        """The columns of a query."""
        return list(self.run(sql).columns)

    def names(self, frame: DataFrame) -> list[str]:
        """The columns of a DataFrame."""
        return list(frame.columns)

    def shaped(self, frame: DataFrame, columns: Sequence[tuple[str, str]]) -> DataFrame:
        """Choose columns."""
        return frame.select(*(F.col("`" + name.replace("`", "``") + "`").alias(new) for name, new in columns))

    def current(self, frame: DataFrame, column: str) -> Any:
        """The present instant, in the type of a column."""
        kind = frame.schema[column].dataType if column in frame.columns else None
        now = datetime.now(UTC)
        if isinstance(kind, DateType):
            return now.date()
        return now if isinstance(kind, TimestampType) else now.replace(tzinfo=None)

    def close(self) -> None:
        """Nothing was registered."""

    def _error(self, sql: Sql, error: PySparkException) -> Exception:
        words = str(error).strip()
        found = _PLACE.search(words)
        words = words.partition("\n")[0]
        if found is None:
            return self._locate(words, None, sql)
        line, column = (int(part) for part in found.groups() if part is not None)
        lines = _formatted(str(sql)).split("\n")
        begin = sum(len(each) + 1 for each in lines[: line - 1])
        return self._locate(words, _unformatted(str(sql), begin + column), sql)


_PIECE = re.compile(r"\{\{|\}\}|\{\w+\}")
_VIEW = "_pyspark_" + "0" * 32
"""As long as the names that Spark gives to DataFrames in a text."""


def _formatted(text: str) -> str:
    return _PIECE.sub(lambda found: found[0][0] if len(found[0]) == 2 else _VIEW, text)


def _unformatted(text: str, offset: int) -> int:
    """Where in our text the words stand that Spark sees at an offset."""
    shift = 0
    for found in _PIECE.finditer(text):
        longer = (1 if len(found[0]) == 2 else len(_VIEW)) - len(found[0])
        if found.start() + shift >= offset:
            break
        shift += longer
    return max(0, offset - shift)
