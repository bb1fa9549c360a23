"""Options in pipeline files, to the values that verbs take."""

from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.names import relation
from timeloom.model.period import Period
from timeloom.model.slide import Slide
from timeloom.model.ticks import parse_span
from timeloom.pipeline.definition.periods import read_period
from timeloom.pipeline.definition.signatures import Kind, Option


def read_value(option: Option, value: Any) -> Any:
    """Check a value against the kind of an option, and return what the verb takes; UsageError says what is wrong."""
    if value is None and not option.required:
        return None
    if option.kind is Kind.PERIOD:
        return _period(option, value)
    if option.kind is Kind.SLIDE:
        return _slide(option, value)
    if option.kind in (Kind.CHOICE, Kind.CHOICES):
        return _choice(option, value)
    if option.kind is Kind.SPAN:
        return parse_span(value, option.name)
    if option.kind is Kind.RELATION:
        _check_relation(value)
        return value
    if not _fits(option, value):
        raise UsageError(f"{value!r} does not fit; {option.name} takes {_expected(option)}")
    if option.kind is Kind.MAPPING:
        return {name: tuple(part) if isinstance(part, list) else part for name, part in value.items()}
    return tuple(value) if option.kind is Kind.TUPLE else value


def _choice(option: Option, value: Any) -> Any:
    several = option.kind is Kind.CHOICES and isinstance(value, list)
    if several and len(value) != 2:
        raise UsageError(f"{value!r} does not fit; {option.name} takes {option.kind.value}")
    for word in value if several else [value]:
        if word not in option.choices:
            raise UsageError(f"{word!r} is unknown. {did_you_mean(str(word), option.choices)}")
    return tuple(value) if several else value


def _fits(option: Option, value: Any) -> bool:
    number = not isinstance(value, bool) and isinstance(value, int | float)
    texts = isinstance(value, list) and all(isinstance(part, str) for part in value)
    tests = {
        Kind.FLAG: isinstance(value, bool) or value in option.choices,
        Kind.INTEGER: number and isinstance(value, int),
        Kind.NUMBER: number,
        Kind.TEXT: isinstance(value, str),
        Kind.NAMES: isinstance(value, str) or texts,
        Kind.TUPLE: isinstance(value, list) and len(value) == (len(option.parts) or len(value)),
        Kind.MAPPING: isinstance(value, dict),
    }
    return tests.get(option.kind, True)


def _expected(option: Option) -> str:
    if option.kind is Kind.TUPLE and option.parts:
        return f"a list of {len(option.parts)}"
    return option.kind.value


def _period(option: Option, value: Any) -> Period:
    try:
        return read_period(value)
    except ValueError as error:
        raise UsageError(f"{option.name}: {error}") from error


def _slide(option: Option, value: Any) -> Slide:
    known = ("start", "range", "slide", "start_slide")
    if isinstance(value, list) and 2 <= len(value) <= len(known):
        return Slide(*value)
    if isinstance(value, dict) and {"start", "range"} <= set(value) <= set(known):
        return Slide(**value)
    raise UsageError(f"{option.name} takes a mapping with start, range and slide, not {value!r}")


def _check_relation(value: Any) -> None:
    """Look up the names; limits such as delta are checked by the verb, which sees all options."""
    if not isinstance(value, str | list):
        raise UsageError(f"{value!r} is no relation; give {Kind.RELATION.value}")
    relation(value)
