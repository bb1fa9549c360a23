"""The campaigns that have no test of their own, each for some seconds, from a fixed seed; ``make fuzz`` goes on."""

import pytest

from fuzz.__main__ import CAMPAIGNS

SECONDS = {"local_calls": 20, "laws": 10, "documents": 5}


@pytest.mark.parametrize("name", SECONDS)
def test_a_short_campaign(name):
    assert CAMPAIGNS[name](20_261_116, SECONDS[name]).total() > 0
