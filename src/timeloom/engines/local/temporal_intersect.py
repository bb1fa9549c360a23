"""What two local tables have in common at every instant."""

from typing import Any

from timeloom.engines.resources.threads import aside
from timeloom.engines.timelines.value_sets import ValueSets
from timeloom.kernels.sequenced.multiplicities import INTERSECT
from timeloom.model.sequenced import TemporalSetRequest


def temporal_intersect(left: object, right: object, request: TemporalSetRequest) -> Any:
    """What two local tables have in common at every instant."""
    sets = ValueSets(left, right, request)
    return aside(sets.result, INTERSECT, pairs=sets.rows**2)
