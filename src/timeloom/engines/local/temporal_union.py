"""The union of two local tables at every instant."""

from typing import Any

from timeloom.engines.resources.threads import aside
from timeloom.engines.timelines.value_sets import ValueSets
from timeloom.kernels.sequenced.multiplicities import UNION
from timeloom.model.sequenced import TemporalSetRequest


def temporal_union(left: object, right: object, request: TemporalSetRequest) -> Any:
    """The union of two local tables at every instant."""
    sets = ValueSets(left, right, request)
    return aside(sets.result, UNION, pairs=sets.rows**2)
