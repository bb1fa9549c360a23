"""Steps of a pipeline file, checked against the registry of verbs."""

from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.names import relation
from timeloom.operators.registry import Verb, verbs
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.document import Path as At
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Expect, Step
from timeloom.pipeline.definition.parts import read_part
from timeloom.pipeline.definition.periods import read_period
from timeloom.pipeline.definition.queries import tables_of
from timeloom.pipeline.definition.signatures import options_of
from timeloom.pipeline.definition.statements import KEY
from timeloom.pipeline.definition.values import read_value

HIDDEN = ("batches", "batch_rows")
"""Options that say how a result reaches Python; a pipeline has its own ways."""


def check_step(document: Document, name: str, data: Any, tables: list[str]) -> Step | None:
    """Read one step; its faults go to the document."""
    at: At = ("steps", name)
    before = len(document.faults)
    known = [*verbs(), "sql"]
    if not isinstance(data, dict):
        document.blame(at, f"expected a verb or sql, found {data!r}")
        return None
    kinds = [key for key in data if key not in ("period", "expect")]
    for key in kinds:
        if key not in known:
            document.blame((*at, key), f"unknown verb. {did_you_mean(key, [*known, 'period', 'expect'])}", key=True)
    if len(kinds) != 1:
        document.blame(at, f"a step has one verb, or sql; found {', '.join(kinds) or 'none'}", key=True)
    period = None
    if data.get("period") is not None:
        try:
            period = read_period(data["period"])
        except ValueError as error:
            document.blame((*at, "period"), str(error))
    expect = None if data.get("expect") is None else read_part(document, (*at, "expect"), Expect, data["expect"])
    if len(document.faults) > before:
        return None
    kind = kinds[0]
    if kind == "sql":
        step = _check_query(document, (*at, "sql"), data["sql"], tables)
    else:
        step = _check_call(document, (*at, kind), verbs()[kind], data[kind], tables)
    return None if len(document.faults) > before else step.model_copy(update={"period": period, "expect": expect})


def _check_query(document: Document, at: At, text: Any, tables: list[str]) -> Step:
    if not isinstance(text, str):
        document.blame(at, "expected the text of a query")
        return Step()
    try:
        allowed = document.data.get(KEY) is True
        needs = tables_of(text, commands=allowed)
    except UsageError as error:
        document.blame(at, one_line(error))
        return Step()
    for table in needs:
        if table not in tables and "." not in table and not allowed:
            document.blame(
                at, f"the query reads {table!r}, which is no source and no step. {did_you_mean(table, tables)}"
            )
    return Step(sql=text, inputs={table: table for table in needs if table in tables})


def _check_call(document: Document, at: At, verb: Verb, given: Any, tables: list[str]) -> Step:
    if not isinstance(given, dict):
        document.blame(at, f"expected a mapping with {', '.join(verb.inputs)} and options")
        return Step()
    known = {option.name: option for option in options_of(verb) if option.name not in HIDDEN}
    inputs: dict[str, str | list[str]] = {}
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name in verb.inputs:
            inputs[name] = _check_input(document, (*at, name), value, tables)
        elif name in known:
            try:
                options[name] = read_value(known[name], value)
            except UsageError as error:
                document.blame((*at, name), str(error))
        else:
            hint = did_you_mean(name, [*verb.inputs, *known])
            document.blame((*at, name), f"{verb.name} has no option {name!r}. {hint}", key=True)
    _check_limits(document, at, options)
    required = [*verb.required, *(name for name, option in known.items() if option.required)]
    for name in required:
        if name not in given:
            document.blame(at, f"{name} is missing", key=True)
    return Step(verb=verb.name, inputs=inputs, options=options)


def _check_limits(document: Document, at: At, options: dict[str, Any]) -> None:
    """Refuse delta or epsilon on a relation that has none."""
    limits = {name: options[name] for name in ("delta", "epsilon") if options.get(name) is not None}
    if limits and "relation" in options:
        try:
            relation(options["relation"], **limits)
        except UsageError as error:
            document.blame((*at, "relation"), str(error))


def _check_input(document: Document, at: At, value: Any, tables: list[str]) -> Any:
    if value not in tables:
        document.blame(at, f"there is no table {value!r}. {did_you_mean(str(value), tables)}")
        return str(value)
    return value
