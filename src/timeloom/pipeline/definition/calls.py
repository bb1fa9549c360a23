"""Steps as calls: in which order, with which periods."""

from dataclasses import replace
from typing import Any

from timeloom.model.period import Period
from timeloom.operators.registry import Verb
from timeloom.pipeline.definition.models import Pipeline, Step
from timeloom.pipeline.definition.signatures import options_of

Periods = dict[str, Period | None]
"""The period of each table, as far as it is known."""

Shown = dict[str, list[Period]]
"""The periods of each table that a picture shows; the first is the table's own."""


def needed_steps(pipeline: Pipeline) -> list[str]:
    """The steps that sinks need, each after those it needs itself, otherwise in the order of the file."""
    wanted = {sink.table for sink in pipeline.all_sinks.values()}
    for name in reversed(_each_after_its_needs(pipeline)):
        if name in wanted:
            wanted.update(pipeline.steps[name].needs)
    return [name for name in _each_after_its_needs(pipeline) if name in wanted]


def _each_after_its_needs(pipeline: Pipeline) -> list[str]:
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in pipeline.steps and name not in order:
            for need in pipeline.steps[name].needs:
                visit(need)
            order[name] = None

    for name in pipeline.steps:
        visit(name)
    return list(order)


def uses(pipeline: Pipeline) -> dict[str, int]:
    """How many steps and sinks take each table."""
    takers = [pipeline.steps[name].needs for name in needed_steps(pipeline)]
    takers += [[sink.table] for sink in pipeline.all_sinks.values()]
    count: dict[str, int] = {}
    for names in takers:
        for name in names:
            count[name] = count.get(name, 0) + 1
    return count


def call_options(verb: Verb, step: Step, periods: Periods, points: set[str]) -> dict[str, Any]:
    """The options of a call; periods that the step does not name are those of its tables.

    ``points`` are the tables in which an empty period means a single instant.
    """
    known = {option.name for option in options_of(verb)}
    options = dict(step.options)
    if "empty" in known and points.intersection(step.needs):
        options.setdefault("empty", "point")
    if "period" in options:
        return options
    for name in step.inputs:
        table = step.inputs[name]
        period = periods.get(table if isinstance(table, str) else table[0])
        option = f"{name}_period" if f"{name}_period" in known else "period"
        if period is not None and option in known:
            options.setdefault(option, period)
    return options


def result_periods(step: Step, options: dict[str, Any], shown: Shown, columns: list[str]) -> list[Period]:
    """The periods that a result shows: its own first, then that of the right table, if both are still there."""
    tables = [shown.get(name, []) for name in step.needs]
    if step.verb is None:
        candidates = [step.period] if step.period else [period for periods in tables[:1] for period in periods]
        return [period for period in candidates if {period.start, period.end} <= set(columns)]
    suffixes = options.get("suffixes", ("", "_right"))
    either = options.get("period")
    first = step.period or options.get("left_period") or either or next(iter(tables[0]), None)
    last = options.get("right_period") or either or next(iter(tables[-1]), None)
    found = [_renamed(first, columns, suffixes[0])]
    if "right" in step.inputs:
        found.append(_renamed(last, columns, suffixes[1]))
    return [period for number, period in enumerate(found) if period and period not in found[:number]]


def _renamed(period: Any, columns: list[str], suffix: str) -> Period | None:
    if period is None:
        return None
    own = Period.of(period)
    for ending in dict.fromkeys((suffix, "")):
        start, end = own.start + ending, own.end + ending
        if start in columns and end in columns:
            return replace(own, start=start, end=end)
    return None
