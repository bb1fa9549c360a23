"""The values of conditions of SQL on the columns of candidate pairs, node by node: three-valued."""

import math
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from timeloom.errors import InvalidInputError
from timeloom.model.ticks import parse_span

Value = Any
"""An array, or a scalar that is the same for all rows."""

_TYPES = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "SMALLINT": pa.int16(),
    "TINYINT": pa.int8(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
    "TEXT": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPNTZ": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
}


def evaluate(node: exp.Expression, columns: Mapping[str, pa.ChunkedArray]) -> Value:
    """The value of a node for all rows."""

    def value(inner: exp.Expression) -> Value:
        return evaluate(inner, columns)

    if isinstance(node, exp.Column):
        column = columns[node.name]
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if type(node) in _BINARY:
        return _BINARY[type(node)](*_aligned(value(node.this), value(node.expression)))
    if type(node) in _UNARY:
        return _UNARY[type(node)](value(node.this))
    return _SPECIAL[type(node)](node, value)


def _literal(node: Any, value: Callable[[Any], Value]) -> Value:
    if node.is_string:
        return pa.scalar(node.this)
    if node.this.isascii() and node.this.isdigit():
        return pa.scalar(int(node.this))
    number = float(node.this)
    if math.isinf(number):
        raise InvalidInputError(f"the number {node.this} is too large for a double")
    return pa.scalar(number)


def _interval(node: Any, value: Callable[[Any], Value]) -> Value:
    span = parse_span(f"{node.this.this} {node.unit.name if node.unit else ''}".strip().lower(), "INTERVAL")
    if not isinstance(span, timedelta):
        raise InvalidInputError(f"{node.sql()} has no unit; expected an interval such as INTERVAL '2' DAY")
    return pa.scalar(span, pa.duration("us"))


def _quotient(node: Any, value: Callable[[Any], Value]) -> Value:
    """A quotient as a double; by zero it is null."""
    above, below = value(node.this).cast(pa.float64()), value(node.expression).cast(pa.float64())
    return pc.divide(above, pc.if_else(pc.equal(below, 0.0), pa.scalar(None, pa.float64()), below))


def _between(node: Any, value: Callable[[Any], Value]) -> Value:
    low = pc.greater_equal(*_aligned(value(node.this), value(node.args["low"])))
    return pc.and_kleene(low, pc.less_equal(*_aligned(value(node.this), value(node.args["high"]))))


def _is_in(node: Any, value: Callable[[Any], Value]) -> Value:
    found: Value = pa.scalar(False)
    for option in node.expressions:
        found = pc.or_kleene(found, pc.equal(*_aligned(value(node.this), value(option))))
    return found


def _is(node: Any, value: Callable[[Any], Value]) -> Value:
    if isinstance(node.expression, exp.Null):
        return pc.is_null(value(node.this))
    return pc.fill_null(pc.equal(value(node.this), value(node.expression)), False)


def _same(node: Any, value: Callable[[Any], Value]) -> Value:
    """Equal, or both null."""
    left, right = _aligned(value(node.this), value(node.expression))
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.fill_null(pc.equal(left, right), False))


def _like(node: Any, value: Callable[[Any], Value]) -> Value:
    pattern = value(node.expression)
    if not isinstance(pattern, pa.Scalar):
        raise InvalidInputError(f"{node.expression.sql()} differs from row to row; expected a pattern as a constant")
    return pc.match_like(value(node.this), pattern.as_py(), ignore_case=isinstance(node, exp.ILike))


def _case(node: Any, value: Callable[[Any], Value]) -> Value:
    default = node.args.get("default")
    result: Value = pa.scalar(None) if default is None else value(default)
    for branch in reversed(node.args["ifs"]):
        condition = branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this)
        chosen = value(branch.args["true"])
        if pa.types.is_null(result.type):
            result = pa.scalar(None, chosen.type)
        result = pc.if_else(pc.fill_null(value(condition), False), chosen, result)
    return result


def _cast(node: Any, value: Callable[[Any], Value]) -> Value:
    target = _TYPES.get(node.to.this.name)
    if target is None:
        raise InvalidInputError(f"the type {node.to.sql()} is unknown here; expected {', '.join(_TYPES)}")
    given = value(node.this)
    if pa.types.is_integer(target) and pa.types.is_floating(given.type):
        given = pc.round(given, round_mode="half_to_even")
    return given.cast(target)


def _joined(node: Any, value: Callable[[Any], Value]) -> Value:
    parts = (value(part).cast(pa.string()) for part in (node.this, node.expression))
    return pc.binary_join_element_wise(*parts, "")


def _aligned(left: Value, right: Value) -> tuple[Value, Value]:
    """Read a text beside another type as one of it, and a date beside a duration as a timestamp."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        kind = left.type if pa.types.is_null(right.type) else right.type
        kind = pa.bool_() if pa.types.is_null(kind) else kind
        return left.cast(kind), right.cast(kind)
    for one, other in ((left, right), (right, left)):
        is_text = isinstance(other, pa.Scalar) and pa.types.is_string(other.type)
        if is_text and (pa.types.is_temporal(one.type) or pa.types.is_decimal(one.type)):
            parsed = other.cast(one.type)
            return (left, parsed) if other is right else (parsed, right)
        if pa.types.is_date(one.type) and pa.types.is_duration(other.type):
            stamp = one.cast(pa.timestamp("us"))
            return (stamp, right) if one is left else (left, stamp)
    return left, right


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
    exp.Not: lambda value: pc.invert(value.cast(pa.bool_()) if pa.types.is_null(value.type) else value),
    exp.Neg: pc.negate_checked,
    exp.Abs: pc.abs_checked,
    exp.Lower: pc.utf8_lower,
    exp.Upper: pc.utf8_upper,
    exp.Length: pc.utf8_length,
    exp.Paren: lambda value: value,
}
_SPECIAL: dict[type, Callable[[Any, Callable[[Any], Value]], Value]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node, _: pa.scalar(bool(node.this)),
    exp.Null: lambda node, _: pa.scalar(None),
    exp.Interval: _interval,
    exp.Div: _quotient,
    exp.Between: _between,
    exp.In: _is_in,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: lambda node, value: pc.invert(_same(node, value)),
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.Coalesce: lambda node, value: pc.coalesce(value(node.this), *(value(part) for part in node.expressions)),
    exp.Cast: _cast,
    exp.DPipe: _joined,
}
