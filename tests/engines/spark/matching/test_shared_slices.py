"""Joins of rows at one tick, which several tasks share: the same pairs as on local tables."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from rows import assert_same
from timeloom.engines.spark.join import planned
from timeloom.model.join import JoinRequest
from timeloom.model.names import relation
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy

pytestmark = pytest.mark.spark

SLICES = 12


def crowded(seed: int, rows: int = 150) -> pa.Table:
    """Two of three rows begin at one tick, some of them alike in all but a text."""
    draw = np.random.default_rng(seed)
    start = np.where(draw.random(rows) < 0.7, 50, draw.integers(0, 100, rows))
    end = start + draw.choice([1, 2, 30], rows)
    return pa.table(
        {"key": draw.integers(0, 2, rows), "name": [f"n{n}" for n in range(rows)], "start": start, "end": end}
    )


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [("intersects", ()), ("starts | started_by | meets", ()), ("intersects", ("key",)), ("iseql.start_preceding", ())],
)
def test_rows_of_a_crowded_tick_meet_once_each(wanted, keys, spark):
    left, right = crowded(1), crowded(2)
    period = Period("start", "end")
    columns = ("name", "name_right")
    request = JoinRequest(
        relation(wanted), Keys(keys, keys), "inner", period, period, Policy(), columns=columns, strategy="slices"
    )
    if keys:
        request = replace(request, strategy="keys")
    frames = [spark.createDataFrame(table).repartition(3) for table in (left, right)]
    joined = planned(*frames, request)
    forced = replace(joined, inputs=replace(joined.inputs, slices=SLICES))
    assert forced.inputs.forecast()["expected copies"] > 1.5, "a slice that is shared has copies of its rows"
    assert_same(
        forced.frame().toArrow(), tl.join(left, right, relation(wanted), on=list(keys) or None, columns=columns)
    )
