"""A column that is named twice is refused by whatever takes names of columns, patterns and streams as well."""

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.streaming import StreamCount, StreamJoin, StreamPattern

ROWS = pa.table({"value": [1, 2], "start": [1, 2], "end": [3, 9]})


@pytest.mark.parametrize(
    "call",
    [
        lambda names: tl.pattern({"a": ROWS, "b": ROWS}, [("a", "before", "b")], columns=names),
        lambda names: StreamJoin("intersects", columns=names),
        lambda names: StreamCount("intersects", columns=names),
        lambda names: StreamPattern(["a", "b"], [("a", "before", "b")], columns=names),
    ],
)
def test_patterns_and_streams_refuse_a_column_named_twice(call):
    with pytest.raises(tl.UsageError, match="columns= names 'a_value' twice"):
        call(["a_value", "a_value"])
