"""Random calls on Spark, under random settings of the session: a short form of a campaign."""

import pytest

from fuzz.spark_calls import compare, run

pytestmark = pytest.mark.spark


def test_random_calls_equal_the_local_engine(spark):
    assert run(seed=20, seconds=0, spark=spark) > 0
    for batch in range(2):
        assert compare(1, batch, spark) > 0
