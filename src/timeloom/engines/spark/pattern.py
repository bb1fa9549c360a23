"""Patterns of named events on Spark: a chain of joins of DataFrames, with filters for what is left to judge.

Tables that are not large are sent to tasks once, which take all steps.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.joins.chains import ticks_of
from timeloom.engines.spark.cluster.pipelines import knowing, known_schema
from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.ticks import PeriodColumns, literal, period_columns
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.spark.join import planned
from timeloom.engines.spark.matching.whole_pattern import ALONE, WholePattern
from timeloom.engines.spark.sequenced.group_forecasts import group_hash, whole_groups
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.model.box import Box
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import Keys
from timeloom.model.pattern import Constraint, PatternRequest, Step
from timeloom.model.period import Period
from timeloom.model.ticks import Axis


def pattern(frames: Mapping[str, DataFrame], request: PatternRequest) -> Any:
    """The matches of a pattern, one row each. Nothing runs before an action."""
    schemas = _schemas(frames, request)
    axis = _axis(schemas, request)
    output = request.output({name: schema.names for name, schema in schemas.items()})
    whole = WholePattern(frames, schemas, request, axis, output)
    if whole.why:
        return whole.result()
    first, steps = request.pattern.steps(axis)
    found = _renamed(frames[first], first, schemas[first], request)
    for step in steps:
        joined = planned(
            found, _renamed(frames[step.name], step.name, schemas[step.name], request), _joined(step, request)
        )
        found = answer(joined.frame(), joined.inputs.sides.both, request.policy)
        for other in step.residuals:
            found = found.where(_condition(other, schemas, request, axis))
        found = knowing(found, joined.schema)
    chosen = [F.col(_quoted(_name(table, column, request))).alias(name) for name, (table, column) in output.items()]
    return found.select(*chosen)


def _schemas(frames: Mapping[str, DataFrame], request: PatternRequest) -> dict[str, T.StructType]:
    schemas = {name: known_schema(frame, name) for name, frame in frames.items()}
    for name, schema in schemas.items():
        refuse_repeated(schema.names, name)
        require_columns(schema.names, [*request.keys, *request.periods[name].columns], name)
    return schemas


def explain_pattern(frames: Mapping[str, DataFrame], request: PatternRequest) -> Explanation:
    """Say in which order a pattern would be joined."""
    schemas = _schemas(frames, request)
    axis = _axis(schemas, request)
    first, steps = request.pattern.steps(axis)
    facts: dict[str, Any] = {"keys": list(request.keys), "begins with": first}
    facts |= {f"step {number}": str(step) for number, step in enumerate(steps, 1)}
    why = "relations with the most bounds come first; each step is a join of its own, with its own strategy"
    output = request.output({name: schema.names for name, schema in schemas.items()})
    whole = WholePattern(frames, schemas, request, axis, output).why
    if whole:
        why = f"relations with the most bounds come first; {whole}"

    def forecast() -> dict[str, Any]:
        """What it costs to send all rows once; of several joins the first, as the others depend on what it finds."""
        if whole:
            sides = [judge_frame(frames[name], request.periods[name], name, request.policy) for name in frames]
            hashes = [group_hash(side, request.keys) for side in sides]
            return whole_groups(sides, hashes, alone=whole == ALONE)()
        left, right = (_renamed(frames[name], name, schemas[name], request) for name in (first, steps[0].name))
        return planned(left, right, _joined(steps[0], request)).inputs.forecast()

    return Explanation("pattern", "spark", facts, (why,), forecast if steps else None)


def _axis(schemas: dict[str, T.StructType], request: PatternRequest) -> Axis:
    kinds = [_columns(name, schemas, request).kind.type for name in request.pattern.names]
    axis = kinds[0].axis
    for kind in kinds[1:]:
        axis = same_axis(kinds[0], kind)
    request.pattern.require_possible(axis)
    return axis


def _name(table: str, column: str, request: PatternRequest) -> str:
    """The name that a column has while tables are joined: keys keep theirs."""
    return column if column in request.keys else f"{table}_{column}"


def _renamed(frame: DataFrame, table: str, schema: T.StructType, request: PatternRequest) -> DataFrame:
    fields = [
        T.StructField(_name(table, field.name, request), field.dataType, field.nullable, field.metadata)
        for field in schema
    ]
    return knowing(frame.toDF(*(field.name for field in fields)), T.StructType(fields))


def _period(table: str, request: PatternRequest) -> Period:
    given = request.periods[table]
    return replace(given, start=_name(table, given.start, request), end=_name(table, given.end, request))


def _joined(step: Step, request: PatternRequest) -> JoinRequest:
    return JoinRequest(
        relation=step.driver.relation,
        keys=Keys(request.keys, request.keys),
        how="inner",
        left_period=_period(step.driver.left, request),
        right_period=_period(step.name, request),
        policy=request.policy,
    )


def _columns(table: str, schemas: dict[str, T.StructType], request: PatternRequest) -> PeriodColumns:
    schema = schemas[table]
    names = {name: _quoted(_name(table, name, request)) for name in schema.names}
    return period_columns(names, schema, request.periods[table], table)


def _condition(constraint: Constraint, schemas: dict[str, T.StructType], request: PatternRequest, axis: Axis) -> str:
    """A relation as SQL over the periods of two tables. Differences are exact: ticks are 64 bits wide."""
    left, right = (_columns(table, schemas, request) for table in (constraint.left, constraint.right))
    corners = ((right.start, left.start), (right.start, left.end), (right.end, left.start), (right.end, left.end))
    differences = [f"(CAST({a} AS DECIMAL(20, 0)) - {b})" for a, b in corners]
    return " OR ".join(_inside(box, differences) for box in constraint.relation.boxes(axis))


def _inside(box: Box, differences: list[str]) -> str:
    parts = ["true"]
    for difference, (low, high) in zip(differences, ticks_of(box), strict=True):
        parts += [] if low is None else [f"{difference} >= {literal(low)}"]
        parts += [] if high is None else [f"{difference} <= {literal(high)}"]
    return f"({' AND '.join(parts)})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
