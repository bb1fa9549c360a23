"""Counting joins on Spark."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.counts.aggregates import aggregate
from timeloom.engines.counts.counting import Counting
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import Piped, mapped
from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.keys import as_given
from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.engines.spark.counting.parts import Part
from timeloom.engines.spark.counting.tasks import Best, CountTask, PartialCountTask
from timeloom.engines.spark.counting.totals import finished, part_field, parts_of, total
from timeloom.engines.spark.matching.inputs import ALONE, JoinInputs, Sides
from timeloom.engines.spark.slicing.join_parts import replication
from timeloom.engines.tables.frames import require_columns
from timeloom.kernels.jit import as_written
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation

COUNT = "count"
"""The column in which tasks report counts."""


@dataclass(frozen=True)
class CountResult:
    """Two tables, and how many rows of the right one each left row is to be told of."""

    inputs: JoinInputs
    request: CountRequest

    @cached_property
    def schema(self) -> T.StructType:
        """The left columns, the count and the aggregates."""
        left, right = self.inputs.sides.both
        fields = [T.StructField(self.request.name, T.LongType(), nullable=False)]
        self._refuse_unfit()
        fields += measure_fields(right.schema, self.request.aggregates)
        return T.StructType([*left.schema.fields, *fields])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What tasks report for the aggregates."""
        return parts_of(self.request.aggregates)

    def frame(self, best: Best | None = None) -> DataFrame:
        """The left rows with their counts: what tasks know alone, and what they know together."""
        inputs, plan = self.inputs, self.inputs.plan
        left, packing = inputs.sides.left, inputs.packing
        rows = plan.rows()
        undecided = plan.undecided("left")
        if inputs.added_up and undecided is not None:
            require_one_reading([left])
            return self._added_up(rows, undecided)
        task = CountTask(
            inputs.matcher(),
            self.request.relation.boxes(inputs.sides.axis),
            self.request.chosen,
            self.request.aggregates,
            ({name: packing.left[name] for name in left.schema.names}, packing.right),
            tuple(self.schema.names),
            best,
            tuple(f"p{packing.right[name]}" for name in self.request.ordered_by),
        )
        result = mapped(rows, task, self.schema)
        if undecided is None:
            return result
        require_one_reading(inputs.sides.both)
        return result.unionAll(self._added_up(rows, undecided))

    def _added_up(self, rows: DataFrame | Piped, undecided: DataFrame) -> DataFrame:
        """The left rows with copies in several tasks: what these report is added up by period and key."""
        left, right = (side.schema for side in self.inputs.sides.both)
        keys, packing = self.request.keys.left, self.inputs.packing
        names = ["start", "end", *(f"k{number}" for number in range(len(keys)))]
        kinds = [T.LongType(), T.LongType(), *(left[key].dataType for key in keys)]
        fields = [T.StructField(name, kind) for name, kind in zip(names, kinds, strict=True)]
        reported = T.StructType(
            [*fields, T.StructField(COUNT, T.LongType()), *(part_field(part, right) for part in self.parts)]
        )
        task = PartialCountTask(self.inputs.matcher(), self.parts, packing.right, tuple(reported.names))
        found = mapped(rows, task, reported).groupBy(*names)
        totals = found.agg(F.sum(COUNT).alias(COUNT), *(total(part) for part in self.parts))
        own = ["start", "end", *(f"p{packing.left[key]}" for key in keys)]
        known = totals.toDF(*(f"known_{name}" for name in names), *reported.names[len(names) :])
        same = " AND ".join(f"{mine} = known_{name}" for mine, name in zip(own, names, strict=True))
        joined = undecided.join(known, F.expr(same), "left")
        count = F.coalesce(F.col(COUNT), F.lit(0))
        given = [F.col(f"p{packing.left[name]}").alias(name) for name in left.names]
        aggregates = [
            finished(measure, self.parts, right, count).alias(measure.name) for measure in self.request.aggregates
        ]
        return joined.select(*given, count.alias(self.request.name), *aggregates)

    @as_written()
    def _refuse_unfit(self) -> None:
        """Let the local engine judge the aggregates, on tables without rows."""
        none = Side(np.zeros(0, np.int64), np.zeros(0, np.int64))
        counting = Counting(Problem.of(none, none), ())
        right = to_arrow_schema(self.inputs.sides.right.schema).empty_table()
        for measure in self.request.aggregates:
            aggregate(counting, np.zeros(0, np.int64), right, measure)


def count_join(left: DataFrame, right: DataFrame, request: CountRequest) -> Any:
    """Count the right rows of each left row. Nothing runs before an action."""
    counted = planned(left, right, request)
    return as_asked(counted, counted.frame())


def planned(left: DataFrame, right: DataFrame, request: CountRequest) -> CountResult:
    """Both DataFrames, read and checked, ready to be counted: each left row has a count, be it zero."""
    sides = Sides.of(left, right, request)
    measured = [measure.column for measure in request.aggregates if measure.column is not None]
    require_columns(sides.right.schema.names, measured, "right")
    request.check_names(sides.left.schema.names)
    columns = sides.left.schema.names, measured
    asked, slices = request.strategy, None
    if request.at_once:
        asked, slices = "broadcast" if asked == "auto" and not request.keys else asked, 1
    inputs = JoinInputs(
        sides, columns, request.relation, ("left",), ("left",), asked, slices, adds_up=not request.at_once
    )
    return CountResult(inputs, request)


def as_asked(counted: CountResult, result: DataFrame) -> Any:
    """Hand out a result in the types that were given, with the rejected rows when they were asked for."""
    sides = counted.inputs.sides
    return answer(as_given(result, counted.schema, sides.left), sides.both, sides.policy)


def explain_count_join(left: DataFrame, right: DataFrame, request: CountRequest) -> Explanation:
    """Say how the counts would be made. Nothing runs."""
    inputs = planned(left, right, request).inputs
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "algorithm": request.chosen,
        "strategy": inputs.strategy.name,
        "keys": list(request.keys.left),
    }
    facts |= {f"{side} bytes": size for side, size in inputs.sizes.items() if size is not None}
    whole = ("an aggregate needs all partners of a left row at once, so one task has them",) * request.at_once
    if inputs.alone:
        facts |= {"partitions": 1, "replication": 1}
        return Explanation("count_join", "spark", facts, (inputs.strategy.why, ALONE), inputs.forecast)
    if inputs.strategy.name == "broadcast":
        small, streamed = ("left", "right") if inputs.added_up else ("right", "left")
        facts |= {"broadcast side": small, "partitions": f"those of the {streamed} side", "replication": 1}
        added = ("every left row gets a count from each task; these are added up by period and key",) * inputs.added_up
        return Explanation("count_join", "spark", facts, (inputs.strategy.why, *added, *whole), inputs.forecast)
    copies, why = replication(inputs.parts, inputs.slicing)
    partitions, slices = inputs.slicing.tasks, f"at most {inputs.slicing.slices}"
    facts |= {"partitions": partitions, "slices": slices, "replication": copies}
    together = "left rows in several slices get a count from each; these are added up by period and key"
    reasons = (inputs.strategy.why, inputs.spread.why, *(whole if request.at_once else (why, together)))
    return Explanation("count_join", "spark", facts, reasons, inputs.forecast)
