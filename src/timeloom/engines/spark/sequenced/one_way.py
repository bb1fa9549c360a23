"""Plans of verbs that run in one way only, on DataFrames: whether rows move, and what a sample tells of the cost."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.columns.cutting import lines_in_sql
from timeloom.engines.spark.columns.instants import tested_in_sql
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.group_forecasts import Forecast, group_hash, rows_alone, whole_groups
from timeloom.engines.spark.sequenced.value_sets import StackedSides
from timeloom.engines.spark.sequenced.whole_groups import in_utc, taken_alone
from timeloom.engines.spark.slicing.boundaries import SAMPLE
from timeloom.engines.spark.slicing.slices import ALONE_BYTES
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.instants import instant_ticks
from timeloom.engines.tables.verdicts import VALID
from timeloom.engines.timelines.splitting import split_table
from timeloom.model.explanation import Explanation
from timeloom.model.one_way import ONE_WAY, OneWayRequest
from timeloom.model.policy import Policy
from timeloom.model.sequenced import CheckRequest, SplitRequest, TemporalSetRequest
from timeloom.model.stab import StabRequest

STAYS = "rows stay where they are: nothing is shuffled"
IN_SQL = "Spark itself {} them, so none goes to Python"
WHOLE = "all rows of a group go to one task, so the largest group decides how much memory a task takes"
ALONE = f"the input has less than {ALONE_BYTES:,} bytes, so one task reads and takes all of it"


def explain_one_way(verb: str, frames: Sequence[DataFrame], request: OneWayRequest) -> Explanation:
    """Say what a verb does with its rows. Nothing runs."""
    if isinstance(request, StabRequest | SplitRequest):
        side = judge_frame(frames[0], request.period, "input", request.policy)
        forecast = rows_alone(side, lambda: _pieces(side, request))
        how = _in_sql(side, request)
        why = f"{STAYS}; {IN_SQL.format(how)}" if how else STAYS
        return _explained(verb, {"strategy": "in place"}, why, forecast)
    if isinstance(request, TemporalSetRequest):
        stacked = StackedSides.of(frames[0], frames[1], request)
        values = [[name for name in side.schema.names if name not in side.period.columns] for side in stacked.sides]
        return _of_groups(verb, {"compares": values[0]}, stacked.rows(), stacked.sides, values)
    policy = Policy("drop") if isinstance(request, CheckRequest) else request.policy
    side = judge_frame(frames[0], request.period, "input", policy)
    require_columns(side.schema.names, list(request.by), "input")
    whole = not isinstance(request, CheckRequest) or request.duplicates
    rows = side.rows if whole else side.only({*request.by, *request.period.columns})
    return _of_groups(verb, {"groups by": list(request.by)}, rows, [side], [request.by])


def _of_groups(
    verb: str, told: dict[str, Any], rows: DataFrame, sides: Sequence[JudgedFrame], by: Sequence[Sequence[str]]
) -> Explanation:
    strategy, why, forecast = plan_of_groups(rows, sides, by)
    return _explained(verb, {"strategy": strategy, **told}, why, forecast)


def plan_of_groups(
    rows: DataFrame, sides: Sequence[JudgedFrame], by: Sequence[Sequence[str]]
) -> tuple[str, str, Forecast]:
    """The strategy of a verb whose groups tasks take whole, or one task all of them; why, and what it costs."""
    if taken_alone(rows):
        return "one task", ALONE, whole_groups(sides, ["0L"] * len(sides), alone=True)
    return "keys" if by[0] else "one task", WHOLE, whole_groups(sides, list(map(group_hash, sides, by)))


def _explained(verb: str, facts: dict[str, Any], why: str, forecast: Forecast) -> Explanation:
    found = ONE_WAY[verb]
    return Explanation(verb, "spark", {"algorithm": found.algorithm, **facts}, (found.why, why), forecast)


def _in_sql(side: JudgedFrame, request: StabRequest | SplitRequest) -> str:
    """What Spark does with rows if none goes to Python."""
    if isinstance(request, SplitRequest):
        return "cuts" if lines_in_sql(side, request) is not None else ""
    return "tests" if tested_in_sql(instant_ticks(request.at, side.columns.kind.type), request.policy) else ""


def _pieces(side: JudgedFrame, request: StabRequest | SplitRequest) -> float:
    """Into how many pieces a row is cut, on average, by some rows. Runs a job."""
    if isinstance(request, StabRequest):
        return 1.0
    names = list(dict.fromkeys(side.period.columns))
    valid = side.rows.where(f"{side.verdict} = {VALID}").select(*map(side.column, names))
    some = valid.orderBy(F.expr("xxhash64(monotonically_increasing_id())")).limit(SAMPLE)
    table = in_utc(some.toArrow().rename_columns(names))
    return float(split_table(table, request)[0].num_rows / max(1, table.num_rows))
