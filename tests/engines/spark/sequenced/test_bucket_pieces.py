"""Pieces of rows on their way to the tasks that measure buckets: equal groups meet, whatever their type and bits."""

import datetime
import decimal

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.spark.sequenced import bucket_pieces
from timeloom.engines.tables.arrays import to_numpy

pytestmark = pytest.mark.spark

GROUPS = {
    "double": [0.0, -0.0, float("nan"), None, 1.5],
    "decimal": [decimal.Decimal("1.50"), decimal.Decimal("0.00"), None],
    "text": ["a", "b", None, ""],
    "truth": [True, False, None],
    "day": [datetime.date(2020, 1, 1), None, datetime.date(1960, 1, 1)],
}


def written(column):
    """The values of a group, so that they can be sorted and compared."""
    return [str(0.0 if value == 0 else value) for value in column.to_pylist()]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", list(GROUPS))
def test_equal_groups_meet(spark, monkeypatch, name, alone):
    monkeypatch.setattr(bucket_pieces, "ALONE_BYTES", 1 << 20 if alone else 0)
    values = GROUPS[name] * 8
    rows = pa.table({"start": range(len(values)), "end": [at + 5 for at in range(len(values))], "by": values})
    frame = spark.createDataFrame(rows).repartition(3)
    measures = {"n": "count", "busy": "covered"}
    found, expected = (tl.temporal_aggregate(table, measures, by="by", every=4) for table in (frame, rows))
    columns = ["start", "end", "n", "busy"]
    answers = [
        sorted(zip(written(table["by"]), *(table[column].to_pylist() for column in columns), strict=True))
        for table in (found.toArrow(), expected)
    ]
    assert answers[0] == answers[1]


def test_pieces_of_a_bucket_have_one_hash_and_buckets_differ():
    rows = pa.table({"c0": [1, 1, 2], "c1": [0, 3, 0], "c2": [10, 9, 4]})
    request = _request(pa.table({"key": rows["c0"], "start": rows["c1"], "end": rows["c2"]}))
    cutting = bucket_pieces.Cutting(request, ("key", "start", "end"), "bucket")
    pieces = bucket_pieces.PieceReader(cutting, ("key", "start", "end"), ("key", "bucket")).admitted(rows)
    assert pieces.column_names == ["c0", "c1", "c2", "c3", "key"]
    found = list(zip(*(pieces[name].to_pylist() for name in ("c0", "c1", "c2", "c3")), strict=True))
    assert found == [(1, 0, 4, 0), (1, 4, 8, 4), (1, 8, 10, 8), (1, 3, 4, 0), (1, 4, 8, 4), (1, 8, 9, 8), (2, 0, 4, 0)]
    hashes = to_numpy(pieces["key"]).tolist()
    assert hashes[:3] == hashes[3:6]
    assert len(set(hashes)) == 4


def _request(rows):
    """The request of a call, as the local engine receives it."""
    from timeloom.engines.local import temporal_aggregate as verb

    seen = []
    with pytest.MonkeyPatch.context() as patch:
        real = getattr(verb, "bucketed")  # noqa: B009

        def seeing(admitted, request, *rest):
            seen.append(request)
            return real(admitted, request, *rest)

        patch.setattr(verb, "bucketed", seeing)
        tl.temporal_aggregate(rows, {"n": "count"}, by="key", every=4)
    return seen[0]
