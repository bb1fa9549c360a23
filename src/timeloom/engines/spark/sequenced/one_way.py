"""Plans of verbs that run in one way only, on DataFrames: whether rows move, and what a sample tells of the cost."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.group_forecasts import Forecast, group_hash, rows_alone, whole_groups
from timeloom.engines.spark.sequenced.whole_groups import in_utc
from timeloom.engines.spark.slicing.boundaries import SAMPLE
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.verdicts import VALID
from timeloom.engines.timelines.splitting import split_table
from timeloom.model.explanation import Explanation
from timeloom.model.one_way import ONE_WAY, OneWayRequest
from timeloom.model.policy import Policy
from timeloom.model.sequenced import CheckRequest, SplitRequest, TemporalSetRequest
from timeloom.model.stab import StabRequest

STAYS = "rows stay where they are: nothing is shuffled"
WHOLE = "all rows of a group go to one task, so the largest group decides how much memory a task takes"


def explain_one_way(verb: str, frames: Sequence[DataFrame], request: OneWayRequest) -> Explanation:
    """Say what a verb does with its rows. Nothing runs."""
    if isinstance(request, StabRequest | SplitRequest):
        side = judge_frame(frames[0], request.period, "input", request.policy)
        forecast = rows_alone(side, lambda: _pieces(side, request))
        return _explained(verb, {"strategy": "in place"}, STAYS, forecast)
    if isinstance(request, TemporalSetRequest):
        sides = (
            judge_frame(frames[0], request.left_period, "left", request.policy),
            judge_frame(frames[1], request.right_period, "right", request.policy),
        )
        values = [[name for name in side.schema.names if name not in side.period.columns] for side in sides]
        hashes = list(map(group_hash, sides, values))
        return _explained(verb, {"strategy": "keys", "compares": values[0]}, WHOLE, whole_groups(sides, hashes))
    policy = Policy("drop") if isinstance(request, CheckRequest) else request.policy
    side = judge_frame(frames[0], request.period, "input", policy)
    require_columns(side.schema.names, list(request.by), "input")
    forecast = whole_groups([side], [group_hash(side, request.by)])
    strategy = "keys" if request.by else "one task"
    return _explained(verb, {"strategy": strategy, "groups by": list(request.by)}, WHOLE, forecast)


def _explained(verb: str, facts: dict[str, Any], why: str, forecast: Forecast) -> Explanation:
    found = ONE_WAY[verb]
    return Explanation(verb, "spark", {"algorithm": found.algorithm, **facts}, (found.why, why), forecast)


def _pieces(side: JudgedFrame, request: StabRequest | SplitRequest) -> float:
    """Into how many pieces a row is cut, on average, by some rows. Runs a job."""
    if isinstance(request, StabRequest):
        return 1.0
    names = list(dict.fromkeys(side.period.columns))
    valid = side.rows.where(f"{side.verdict} = {VALID}").select(*map(side.column, names))
    some = valid.orderBy(F.expr("xxhash64(monotonically_increasing_id())")).limit(SAMPLE)
    table = in_utc(some.toArrow().rename_columns(names))
    return float(split_table(table, request)[0].num_rows / max(1, table.num_rows))
