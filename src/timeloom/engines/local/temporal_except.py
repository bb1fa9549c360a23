"""What a local table has and another has not, at every instant."""

from typing import Any

from timeloom.engines.resources.threads import aside
from timeloom.engines.timelines.value_sets import ValueSets
from timeloom.kernels.sequenced.multiplicities import EXCEPT
from timeloom.model.sequenced import TemporalSetRequest


def temporal_except(left: object, right: object, request: TemporalSetRequest) -> Any:
    """What a local table has and another has not, at every instant."""
    sets = ValueSets(left, right, request)
    return aside(sets.result, EXCEPT, pairs=sets.rows**2)
