"""Each campaign for some seconds, from a fixed seed; ``make fuzz`` goes on from there."""

import os

import pytest

from fuzz.__main__ import CAMPAIGNS, campaign

SECONDS = float(os.environ.get("TIMELOOM_FUZZ_SECONDS", "8"))


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_short_campaign(name):
    assert campaign(name)(20_261_116, SECONDS).total() > 0
