"""Expressions of SQL, evaluated on Arrow tables."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from timeloom.errors import TimeloomError
from timeloom.model.ticks import parse_span
from timeloom.query.scope import Scope

_FAILURES = (pa.ArrowException, OverflowError, ValueError, TypeError, AttributeError, KeyError)
"""What Arrow raises for values that do not fit together."""

Value = Any
"""An Arrow array, or a scalar that is the same for all rows."""

_BINARY: dict[type, Callable[[Value, Value], Value]] = {
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.And: pc.and_kleene,
    exp.Or: pc.or_kleene,
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
}

_UNARY: dict[type, Callable[[Value], Value]] = {
    exp.Not: pc.invert,
    exp.Neg: pc.negate_checked,
    exp.Abs: pc.abs_checked,
    exp.Lower: pc.utf8_lower,
    exp.Upper: pc.utf8_upper,
    exp.Length: pc.utf8_length,
    exp.Floor: pc.floor,
    exp.Ceil: pc.ceil,
    exp.Paren: lambda value: value,
}

_TYPES = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "SMALLINT": pa.int16(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "TEXT": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
}


class Evaluator:
    """Evaluates expressions over the rows of a table."""

    def __init__(self, table: pa.Table, scope: Scope) -> None:
        self._table = table
        self._scope = scope

    def column(self, node: exp.Expression) -> pa.ChunkedArray:
        """The value of an expression for each row."""
        value = self.value(node)
        if isinstance(value, pa.Scalar):
            value = pa.repeat(value, self._table.num_rows)
        return value if isinstance(value, pa.ChunkedArray) else pa.chunked_array([value])

    def value(self, node: exp.Expression) -> Value:
        """The value of an expression: an array, or a scalar if it is the same for all rows."""
        try:
            return self._evaluate(node)
        except TimeloomError:
            raise
        except _FAILURES as error:
            raise self._scope.error(node, f"{node.sql()[:100]} cannot be computed: {error}") from error

    def _evaluate(self, node: exp.Expression) -> Value:
        for kinds, evaluate in (
            (_BINARY, self._binary),
            (_UNARY, self._unary),
            (_SPECIAL, self._special),
        ):
            if type(node) in kinds:
                return evaluate(node)
        raise self._scope.error(
            node,
            f"{node.sql()} is not supported here; expected columns, literals, arithmetic, comparisons, CASE, "
            "COALESCE, CAST, BETWEEN, IN, LIKE, ABS, ROUND, LOWER, UPPER, LENGTH",
        )

    def _binary(self, node: exp.Expression) -> Value:
        left, right = aligned(self.value(node.this), self.value(node.expression))
        return _BINARY[type(node)](left, right)

    def _unary(self, node: exp.Expression) -> Value:
        return _UNARY[type(node)](self.value(node.this))

    def _special(self, node: exp.Expression) -> Value:
        return _SPECIAL[type(node)](self, node)

    def _constant(self, node: exp.Expression, what: str) -> Any:
        value = self.value(node)
        if not isinstance(value, pa.Scalar):
            raise self._scope.error(node, f"{node.sql()} differs from row to row; expected {what} as a constant")
        return value.as_py()

    def named(self, node: exp.Column) -> Value:
        """A column of the table."""
        return self._table[self._scope.resolve(node)]

    def literal(self, node: exp.Literal) -> Value:
        """A text or a number."""
        if node.is_string:
            return pa.scalar(node.this)
        if node.this.isascii() and node.this.isdigit():
            return pa.scalar(int(node.this))
        number = float(node.this)
        if math.isinf(number):
            raise self._scope.error(node, f"the number {node.this} is too large for a double")
        return pa.scalar(number)

    def interval(self, node: exp.Interval) -> Value:
        """A duration."""
        if not isinstance(node.this, exp.Literal):
            raise self._scope.error(node, f"{node.sql()} is no constant; expected an interval such as INTERVAL '2' DAY")
        words = node.this.this + (f" {node.unit.name}" if node.unit else "")
        try:
            span = parse_span(words.lower(), "INTERVAL")
        except TimeloomError as error:
            raise self._scope.error(node, str(error)) from error
        assert isinstance(span, timedelta)
        return pa.scalar(span, pa.duration("us"))

    def divide(self, node: exp.Div) -> Value:
        """A quotient as a double; by zero it is null."""
        above, below = self.value(node.this), self.value(node.expression)
        if not pa.types.is_decimal(above.type):
            above, below = above.cast(pa.float64()), below.cast(pa.float64())
        return pc.divide(
            above, pc.if_else(pc.equal(below, pa.scalar(0, below.type)), pa.scalar(None, below.type), below)
        )

    def remainder(self, node: exp.Mod) -> Value:
        """The rest of a division of integers, with the sign of the dividend."""
        above, below = aligned(self.value(node.this), self.value(node.expression))
        return pc.subtract(above, pc.multiply(pc.divide(above, below), below))

    def between(self, node: exp.Between) -> Value:
        """Both ends included."""
        value, low = aligned(self.value(node.this), self.value(node.args["low"]))
        other, high = aligned(self.value(node.this), self.value(node.args["high"]))
        return pc.and_kleene(pc.greater_equal(value, low), pc.less_equal(other, high))

    def is_in(self, node: exp.In) -> Value:
        """Equal to one of a list."""
        value = self.value(node.this)
        found: Value = pa.scalar(False)
        for option in node.expressions:
            found = pc.or_kleene(found, pc.equal(*aligned(value, self.value(option))))
        return found

    def is_same(self, node: exp.Is) -> Value:
        """IS NULL, IS TRUE, IS FALSE."""
        value = self.value(node.this)
        if isinstance(node.expression, exp.Null):
            return pc.is_null(value)
        return pc.fill_null(pc.equal(value, self.value(node.expression)), False)

    def like(self, node: exp.Like) -> Value:
        """Text that matches a pattern with % and _."""
        pattern = self._constant(node.expression, "a pattern")
        return pc.match_like(self.value(node.this), pattern, ignore_case=isinstance(node, exp.ILike))

    def case(self, node: exp.Case) -> Value:
        """The first branch whose condition holds."""
        default = node.args.get("default")
        result: Value = self.value(default) if default is not None else pa.scalar(None)
        for branch in reversed(node.args["ifs"]):
            condition = branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this)
            chosen = self.value(branch.args["true"])
            if pa.types.is_null(result.type):
                result = pa.scalar(None, chosen.type)
            result = pc.if_else(pc.fill_null(self.value(condition), False), chosen, result)
        return result

    def coalesce(self, node: exp.Coalesce) -> Value:
        """The first value that is not null."""
        return pc.coalesce(self.value(node.this), *(self.value(part) for part in node.expressions))

    def cast(self, node: exp.Cast) -> Value:
        """A value as another type."""
        target = _TYPES.get(node.to.this.name)
        if node.to.this.name == "DECIMAL":
            target = (
                pa.decimal128(*(int(part.name) for part in node.to.expressions))
                if node.to.expressions
                else pa.decimal128(38, 10)
            )
        if target is None:
            raise self._scope.error(
                node, f"the type {node.to.sql()} is unknown here; expected {', '.join(_TYPES)} or DECIMAL"
            )
        return self.value(node.this).cast(target)

    def rounded(self, node: exp.Round) -> Value:
        """A number rounded to some decimals."""
        given = node.args.get("decimals")
        decimals = 0 if given is None else self._constant(given, "a number of decimals")
        return pc.round(self.value(node.this), decimals)

    def joined(self, node: exp.DPipe) -> Value:
        """Two texts, one after the other."""
        parts = (self.value(part).cast(pa.string()) for part in (node.this, node.expression))
        return pc.binary_join_element_wise(*parts, "")


_SPECIAL: dict[type, Callable[[Evaluator, Any], Value]] = {
    exp.Column: Evaluator.named,
    exp.Literal: Evaluator.literal,
    exp.Boolean: lambda _, node: pa.scalar(bool(node.this)),
    exp.Null: lambda _, node: pa.scalar(None),
    exp.Interval: Evaluator.interval,
    exp.Div: Evaluator.divide,
    exp.Mod: Evaluator.remainder,
    exp.Between: Evaluator.between,
    exp.In: Evaluator.is_in,
    exp.Is: Evaluator.is_same,
    exp.Like: Evaluator.like,
    exp.ILike: Evaluator.like,
    exp.Case: Evaluator.case,
    exp.Coalesce: Evaluator.coalesce,
    exp.Cast: Evaluator.cast,
    exp.Round: Evaluator.rounded,
    exp.DPipe: Evaluator.joined,
}


def aligned(left: Value, right: Value) -> tuple[Value, Value]:
    """Read a text beside a date or timestamp as one, and a date beside a duration as a timestamp."""
    for one, other in ((left, right), (right, left)):
        if pa.types.is_temporal(one.type) and isinstance(other, pa.Scalar) and pa.types.is_string(other.type):
            parsed = other.cast(one.type)
            return (left, parsed) if other is right else (parsed, right)
        if pa.types.is_date(one.type) and pa.types.is_duration(other.type):
            stamp = one.cast(pa.timestamp("us"))
            return (stamp, right) if one is left else (left, stamp)
    return left, right
