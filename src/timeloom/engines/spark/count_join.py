"""Counting joins on Spark."""

from functools import cached_property
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from timeloom.engines.counts.aggregates import aggregate
from timeloom.engines.counts.counting import Counting
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.keys import as_given
from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.engines.spark.columns.validity import merge_rejected
from timeloom.engines.spark.counting.parts import Part
from timeloom.engines.spark.counting.tasks import Best, CountTask, PartialCountTask
from timeloom.engines.spark.counting.totals import finished, part_field, parts_of, total
from timeloom.engines.spark.join import SparkJoin
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.engines.spark.slicing.join_parts import replication
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest

COUNT = "count"
"""The column in which tasks report counts."""


class SparkCount(SparkJoin):
    """Two DataFrames, ready to be counted: distributed as for a join that returns left rows, all of them."""

    def __init__(self, left: DataFrame, right: DataFrame, request: CountRequest) -> None:
        self.counted = request
        periods = request.left_period, request.right_period
        strategy = request.strategy
        super().__init__(
            left,
            right,
            JoinRequest(request.relation, request.keys, "anti", *periods, request.policy, strategy=strategy),
        )
        request.check_names(self.left.schema.names)

    def _wanted(self) -> tuple[list[str], list[str]]:
        measured = [measure.column for measure in self.counted.aggregates if measure.column is not None]
        require_columns(self.right.schema.names, measured, "right")
        left, right = super()._wanted()
        return left, [*right, *measured]

    @cached_property
    def schema(self) -> T.StructType:
        """The left columns, the count and the aggregates."""
        fields = [T.StructField(self.counted.name, T.LongType(), nullable=False)]
        self._refuse_unfit()
        fields += measure_fields(self.right.schema, self.counted.aggregates)
        return T.StructType([*self.left.schema.fields, *fields])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What tasks report for the aggregates."""
        return parts_of(self.counted.aggregates)

    def counts(self, best: Best | None = None) -> DataFrame:
        """The left rows with their counts: what tasks know alone, and what they know together."""
        plan = self.plan()
        matcher = self._matcher(plan.reader)
        rows = plan.rows()
        task = CountTask(
            matcher,
            self.request.relation.boxes(self.axis),
            self.counted.chosen,
            self.counted.aggregates,
            ({name: self.packing.left[name] for name in self.left.schema.names}, self.packing.right),
            tuple(self.schema.names),
            best,
        )
        result = mapped(rows, task, self.schema)
        undecided = plan.undecided("left")
        if undecided is None:
            return result
        require_one_reading((self.left, self.right))
        return result.unionAll(self._added_up(rows, matcher, undecided))

    def _added_up(self, rows: DataFrame, matcher: Matcher, undecided: DataFrame) -> DataFrame:
        """The left rows with copies in several tasks: what these report is added up by period and key."""
        keys, right = self.request.keys.left, self.right.schema
        names = ["start", "end", *(f"k{number}" for number in range(len(keys)))]
        kinds = [T.LongType(), T.LongType(), *(self.left.schema[key].dataType for key in keys)]
        fields = [T.StructField(name, kind) for name, kind in zip(names, kinds, strict=True)]
        reported = T.StructType(
            [*fields, T.StructField(COUNT, T.LongType()), *(part_field(part, right) for part in self.parts)]
        )
        task = PartialCountTask(matcher, self.parts, self.packing.right, tuple(reported.names))
        found = mapped(rows, task, reported).groupBy(*names)
        totals = found.agg(F.sum(COUNT).alias(COUNT), *(total(part) for part in self.parts))
        places = ["start", "end", *(f"p{self.packing.left[key]}" for key in keys)]
        known = totals.toDF(*(f"known_{name}" for name in names), *reported.names[len(names) :])
        same = " AND ".join(f"{place} = known_{name}" for place, name in zip(places, names, strict=True))
        joined = undecided.join(known, F.expr(same), "left")
        count = F.coalesce(F.col(COUNT), F.lit(0))
        given = [F.col(f"p{self.packing.left[name]}").alias(name) for name in self.left.schema.names]
        aggregates = [
            finished(measure, self.parts, right, count).alias(measure.name) for measure in self.counted.aggregates
        ]
        return joined.select(*given, count.alias(self.counted.name), *aggregates)

    def _refuse_unfit(self) -> None:
        """Let the local engine judge the aggregates, on tables without rows."""
        none = Side(np.zeros(0, np.int64), np.zeros(0, np.int64))
        counting = Counting(Problem.of(none, none), ())
        right = to_arrow_schema(self.right.schema, timezone="UTC").empty_table()
        for measure in self.counted.aggregates:
            aggregate(counting, np.zeros(0, np.int64), right, measure)


def count_join(left: DataFrame, right: DataFrame, request: CountRequest) -> "DataFrame | Quarantined[DataFrame]":
    """Count the right rows of each left row. Nothing runs before an action."""
    task = SparkCount(left, right, request)
    return answer(task, task.counts())


def answer(task: SparkCount, result: DataFrame) -> "DataFrame | Quarantined[DataFrame]":
    """Hand out a result, with the rejected rows when they were asked for."""
    result = as_given(result, task.schema, task.left)
    if task.request.policy.on_invalid == "quarantine":
        return Quarantined(result, merge_rejected(task.left, task.right))
    return result


def explain_count_join(left: DataFrame, right: DataFrame, request: CountRequest) -> Explanation:
    """Say how the counts would be made. Nothing runs."""
    task = SparkCount(left, right, request)
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "algorithm": request.chosen,
        "strategy": task.strategy.name,
        "keys": list(request.keys.left),
    }
    facts |= {f"{side} bytes": size for side, size in task.sizes.items() if size is not None}
    if task.strategy.name == "broadcast":
        facts |= {"broadcast side": "right", "partitions": "those of the left side", "replication": 1}
        return Explanation("count_join", "spark", facts, (task.strategy.why,))
    copies, why = replication(task.pieces, task.slicing)
    facts |= {"partitions": task.spread.partitions, "slices": f"at most {task.slicing.slices}", "replication": copies}
    together = "left rows in several slices get a count from each; these are added up by period and key"
    return Explanation("count_join", "spark", facts, (task.strategy.why, task.spread.why, why, together))
