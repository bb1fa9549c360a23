"""The rows of a join: pairs, and rows without a partner, in the columns that a verb asks for."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.keys import as_given
from timeloom.engines.spark.columns.periods import period_type, period_writer, span_type
from timeloom.engines.spark.exchange.broadcast import Broadcast
from timeloom.engines.spark.matching import index_probe as probing
from timeloom.engines.spark.matching.expanding import expanded, run_batch_schema, suits
from timeloom.engines.spark.matching.inputs import JoinInputs, Sides
from timeloom.engines.spark.matching.runs import RunTask
from timeloom.engines.spark.matching.tasks import JoinTask
from timeloom.engines.spark.matching.unmatched import Undecided
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.model.conditions import Condition
from timeloom.model.naming import OutputColumn

DECIDED = {
    "inner": (),
    "left": ("left",),
    "right": ("right",),
    "full": ("left", "right"),
    "semi": ("left",),
    "anti": ("left",),
}
"""The sides of which it must be known which rows have a partner."""

PRESERVED = DECIDED | {"semi": ()}
"""The sides whose rows are kept even when they match nothing."""


def needed(columns: Iterable[OutputColumn]) -> tuple[list[str], list[str]]:
    """The columns of each side that a result is made of."""
    known = list(columns)
    left = [column.left for column in known if column.origin in ("left", "key")]
    return left, [column.right for column in known if column.origin == "right"]


def result_field(column: OutputColumn, sides: Sides, how: str, writer: PeriodWriter | None = None) -> T.StructField:
    """The field of a column of a result; ``writer`` says how overlaps are written, if there are any."""
    if column.origin == "right":
        found, outer = sides.right.schema[column.right], how in ("left", "full")
    elif column.origin in ("left", "key"):
        found, outer = sides.left.schema[column.left], how in ("right", "full")
    elif column.origin in ("overlap_length", "distance") or writer is None:
        return T.StructField(column.name, span_type(sides.axis))
    else:
        return T.StructField(column.name, period_type(writer))
    return T.StructField(column.name, found.dataType, found.nullable or outer, found.metadata)


@dataclass(frozen=True)
class JoinResult:
    """Two tables whose pairs, or whose rows without a partner, are the result."""

    inputs: JoinInputs
    how: str
    columns: tuple[OutputColumn, ...]
    algorithm: str = "auto"
    wide: bool = True

    @property
    def writer(self) -> PeriodWriter:
        """How overlaps are written; those of instants that are no ``wide`` ones are instants themselves."""
        return period_writer(*self.inputs.sides.both, wide=self.wide)

    @cached_property
    def schema(self) -> T.StructType:
        """The schema of the result."""
        return T.StructType([result_field(column, self.inputs.sides, self.how, self.writer) for column in self.columns])

    def frame(self) -> DataFrame:
        """The plan of the result: what tasks decide alone, and what they decide together."""
        plan = self.inputs.plan
        if self.probes and isinstance(plan, Broadcast):
            return probing.Probing(plan, self.columns, tuple(self.schema.fields)).result()
        if self.runs:
            return self._expanded()
        task = JoinTask(self.inputs.matcher(self.algorithm), self.how, self.columns, self.inputs.pairs(self.writer))
        result = mapped(plan.rows(), task, self.schema, kernels=not self.inputs.alone)
        if self.inputs.undecided:
            require_one_reading(self.inputs.sides.both)
            result = result.unionAll(
                Undecided(self.inputs, self.columns, keep_matched=self.how == "semi").rows(result.schema)
            )
        return as_given(result, self.schema, self.inputs.sides.left) if self.how in ("semi", "anti") else result

    @cached_property
    def runs(self) -> bool:
        """Whether tasks return runs, which SQL writes out as pairs, or the pairs themselves.

        Of small inputs they return pairs: Spark would take longer to plan and compile what writes them out.
        """
        nullable = all(field.nullable for field in self.schema)
        inputs = self.inputs
        plain = self.how == "inner" and nullable and not inputs.residual and not inputs.alone
        return plain and suits(inputs.spark, self.algorithm, inputs.parts, self.columns)

    @property
    def probes(self) -> bool:
        """Whether rows of the large side are searched for in SQL."""
        sizes, strategy, sides = self.inputs.sizes, self.inputs.strategy, self.inputs.sides
        if strategy.name != "broadcast" or self.inputs.alone or sides.keys or not self.runs:
            return False
        streamed = sizes["left" if strategy.small == "right" else "right"]
        return probing.suits(sides.policy, self.inputs.parts, sizes[strategy.small], streamed)

    def _expanded(self) -> DataFrame:
        packing = self.inputs.packing
        sides = ["right" if column.origin == "right" else "left" for column in self.columns]
        columns = tuple(
            ("right", packing.right[column.right]) if column.origin == "right" else ("left", packing.left[column.left])
            for column in self.columns
        )
        task = RunTask(self.inputs.matcher(self.algorithm), columns)
        rows, schema = self.inputs.plan.rows(), run_batch_schema(self.schema.fields)
        batches = mapped(rows, task, schema, kernels=not self.inputs.alone)
        return expanded(batches, self.schema.fields, sides)


def try_out(condition: Condition, inputs: JoinInputs) -> None:
    """Compute a condition on no rows at all, so that one that cannot be computed is refused before anything runs."""
    read = inputs.residual.columns
    fields = JoinResult(inputs, "inner", tuple(column for _, column in read)).schema
    empty = to_arrow_schema(fields).empty_table()
    held(condition, dict(zip((name for name, _ in read), empty.columns, strict=True)), 0)
