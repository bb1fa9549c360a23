"""Parcels dealt out by a plan: the same as by hand."""

import numpy as np
import pytest
from pyspark.sql import functions as F

from dealing import copies
from timeloom.engines.spark.exchange.blocks import RECEIVED
from timeloom.engines.spark.exchange.routing import dealt
from timeloom.engines.spark.slicing.boundaries import Slicing

pytestmark = pytest.mark.spark

BOUNDS = [3, 5, 8, 13, 21]


@pytest.fixture(scope="module")
def parcels():
    rng = np.random.default_rng(3)
    rows = [
        {"home": int(home), "low": None, "high": None, "is_right": bool(home % 2), "parcel": bytes([home])}
        for home in range(8)
    ]
    for number, (home, low, length) in enumerate(
        zip(rng.integers(0, 8, 200), rng.integers(-3, 25, 200), rng.integers(0, 9, 200), strict=True)
    ):
        rows.append(
            {
                "home": int(home),
                "low": int(low),
                "high": int(low + length),
                "is_right": number % 3 == 0,
                "parcel": bytes([number]),
            }
        )
    return rows


@pytest.mark.parametrize("hot", [None, [], [2, 5]])
@pytest.mark.parametrize("bounds", [[], [7], BOUNDS])
def test_parcels_are_dealt_out_as_by_hand(spark, parcels, bounds, hot):
    slicing = Slicing(8, 2, by_key=hot is not None)
    cuts = F.expr(
        f"named_struct('bounds', CAST(array({', '.join(map(str, bounds))}) AS ARRAY<BIGINT>), "
        f"'hot', CAST(array({', '.join(map(str, hot or []))}) AS ARRAY<INT>))"
    )
    given = spark.createDataFrame(parcels, "home int, low long, high long, is_right boolean, parcel binary")
    found = dealt(given, cuts, slicing)
    assert found.columns == RECEIVED
    expected = [row for parcel in parcels for row in copies(parcel, bounds, 8, hot)]
    assert sorted(map(repr, (tuple(map(plain, row)) for row in found.collect()))) == sorted(map(repr, expected))


def test_without_slices_parcels_stay_at_home(spark, parcels):
    given = spark.createDataFrame(parcels, "home int, low long, high long, is_right boolean, parcel binary")
    found = dealt(given, F.lit(None), Slicing(1, 1, by_key=False)).collect()
    expected = [(parcel["home"], 0, None, None, parcel["is_right"], parcel["parcel"]) for parcel in parcels]
    assert sorted(map(repr, (tuple(map(plain, row)) for row in found))) == sorted(map(repr, expected))


def plain(value):
    return bytes(value) if isinstance(value, bytearray) else value
