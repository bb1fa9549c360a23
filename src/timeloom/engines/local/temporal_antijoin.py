"""The sequenced anti-join on local tables."""

from typing import Any

from timeloom.engines.local.temporal_join import LocalPair, pieces_of_left
from timeloom.engines.resources.threads import aside
from timeloom.engines.tables.validity import answer
from timeloom.engines.timelines.depths import merge_facts
from timeloom.engines.timelines.judged import passing, remainders
from timeloom.kernels.sequenced.difference import Pieces
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import AntijoinRequest


def temporal_antijoin(left: object, right: object, request: AntijoinRequest) -> Any:
    """Keep the sub-periods of left rows in which no right row is active."""
    pair = LocalPair(left, right, request)
    pieces = aside(_alone, pair, request, pairs=pair.pairs)
    result = pieces_of_left(pair, pieces, request.columns)
    return answer(result, pair.rejected, request.policy, pair.restore)


def _alone(pair: LocalPair, request: AntijoinRequest) -> Pieces:
    """The time in which left rows have no partner."""
    sides, keep = pair.sides(), pair.keep()
    if keep is None:
        return sides.alone(request.algorithm, m=request.m or 0)
    algorithm = "dip" if request.algorithm == "dip" else "auto"
    (found,) = remainders(sides, list(passing(sides, algorithm, keep, request.m or 0)), "anti")
    return Pieces(found.left, found.starts, found.ends)


def explain_temporal_antijoin(left: object, right: object, request: AntijoinRequest) -> Explanation:
    """Say how an anti-join would run."""
    pair = LocalPair(left, right, request)
    dip = request.algorithm == "dip"
    facts = {
        "algorithm": "dip" if dip else "cover",
        "left rows": len(pair.left.starts),
        "right rows": len(pair.right.starts),
        "keys": list(request.keys.left),
    }
    if dip:
        facts |= merge_facts(*pair.sides().positions, request.m, pairs=False)
    if request.where is not None:
        facts["judged by"] = request.where.text
        why = "pairs are judged page by page, and those that pass are taken out of the left rows"
        return Explanation("temporal_antijoin", "local", facts, (why,))
    why = "the right side is united once, and each left row meets only the part of the union that it touches"
    return Explanation("temporal_antijoin", "local", facts, ("it was asked for" if dip else why,))
