"""Rows that are active at instants, as Spark itself can tell."""

from timeloom.engines.spark.columns.ticks import PeriodColumns, literal
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.policy import Policy

FEW = 16
"""Up to so many instants, Spark itself tests each of them; more are looked up by tasks."""


def tested_in_sql(instants: Ticks, policy: Policy) -> bool:
    """Whether Spark itself tests each row, and no row goes to Python: only tasks can report which rows they drop."""
    return instants.size <= FEW and not policy.drops


def may_be_active(columns: PeriodColumns, instants: Ticks) -> str:
    """A test in SQL: exact for few instants; for many, whether a row reaches into the time from first to last."""
    if not instants.size:
        return "false"
    spans = [(t, t) for t in instants.tolist()]
    if len(spans) > FEW:
        spans = [(spans[0][0], spans[-1][0])]
    tests = (f"({columns.start} <= {literal(last)} AND {columns.end} > {literal(first)})" for first, last in spans)
    return f"({' OR '.join(tests)})"
