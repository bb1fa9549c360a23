"""Options as people type them, to the values that verbs take."""

import json
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.period import Period
from timeloom.model.slide import Slide
from timeloom.pipeline.definition.signatures import Kind, Option
from timeloom.pipeline.definition.values import read_value


def parse_option(option: Option, given: tuple[str, ...], closed: str | None, open_end: tuple[str, ...]) -> Any:
    """Read the texts given for one option (once, or repeated)."""
    if option.kind is Kind.NAMES:
        return [name.strip() for text in given for name in text.split(",")]
    if option.kind is Kind.MAPPING:
        return dict(_entry(option.name, text) for text in given)
    text = _only(option.name, given)
    if option.kind is Kind.CHOICES:
        words = [word.strip() for word in text.split(",")]
        return read_value(option, words if len(words) > 1 else text)
    if option.kind is Kind.PERIOD:
        return parse_period(option.name, text, closed, open_end)
    if option.kind is Kind.SLIDE:
        return parse_slide(option.name, text)
    if option.kind is Kind.TUPLE:
        return _tuple(option, text)
    return parse_value(text) if option.kind is Kind.VALUE else text


def parse_value(text: str) -> Any:
    """Read JSON, or several JSON values with commas between; anything else is text.

    >>> parse_value("5"), parse_value("1,5,9"), parse_value("2013-01-01")
    (5, [1, 5, 9], '2013-01-01')
    """
    for attempt in (text, f"[{text}]"):
        try:
            return json.loads(attempt)
        except ValueError:
            continue
    return text


def parse_period(name: str, text: str, closed: str | None, open_end: tuple[str, ...]) -> Period:
    """Read ``start,end``, or ``at`` for a column of instants.

    >>> parse_period("period", "from,to", "both", ())
    Period(start='from', end='to', closed='both', open_end=None, truncate=False)
    """
    columns = [part.strip() for part in text.split(",")]
    if len(columns) == 1 and columns[0]:
        return Period(columns[0])
    if len(columns) != 2:
        raise UsageError(
            f"--{dashed(name)} {text!r} is no period; give two column names, such as 'start,end', or one of instants"
        )
    sentinels = tuple(parse_value(sentinel) for sentinel in open_end)
    return Period(columns[0], columns[1], closed=closed or "left", open_end=sentinels or None)  # type: ignore[arg-type]


def parse_slide(name: str, text: str) -> Slide:
    """Read ``start,range,slide``, with spaces in the parts.

    >>> parse_slide("sys", "100,4,1")
    Slide(start=100, range=4, slide=1, start_slide=None)
    """
    parts = [parse_value(part.strip()) for part in text.split(",")]
    if not 2 <= len(parts) <= 4:
        raise UsageError(f"--{dashed(name)} {text!r} is no slide; give 'start,range,slide', such as '100,4,1'")
    return Slide(*parts)


def parse_extra(texts: tuple[str, ...], known: "dict[str, Option]") -> dict[str, Any]:
    """Read ``--option name=json``, the way to give a value that has no shorter spelling."""
    extra = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or name not in known:
            raise UsageError(f"--option {text!r} is no option; give name=json with one of: {', '.join(known)}")
        try:
            extra[name] = read_value(known[name], parse_value(value))
        except UsageError as error:
            raise UsageError(f"--option {text!r}: {error}") from error
    return extra


def dashed(name: str) -> str:
    """The spelling of a name on the command line."""
    return name.replace("_", "-")


def _only(name: str, given: tuple[str, ...]) -> str:
    if len(given) != 1:
        raise UsageError(f"--{dashed(name)} was given {len(given)} times; give it once")
    return given[0]


def _entry(name: str, text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign:
        raise UsageError(
            f"--{dashed(name)} {text!r} has no '='; give name=function or name=column:function, such as total=price:sum"
        )
    if value.lstrip().startswith(("[", "{", '"')):
        return key, parse_value(value)
    if "," in value and "=" in value:
        raise UsageError(f"--{dashed(name)} {text!r} has more than one; give --{dashed(name)} once for each")
    column, colon, function = value.rpartition(":")
    return key, (column, function) if colon else value


def _tuple(option: Option, text: str) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.replace(":", ",").split(",")] if int in option.parts else text.split(",")
    if option.parts and len(parts) != len(option.parts):
        raise UsageError(
            f"--{dashed(option.name)} {text!r} has {len(parts)} parts; give {len(option.parts)} with commas between"
        )
    if not option.parts:
        return tuple(parse_value(part) for part in parts)
    return tuple(part if kind is str else parse_value(part) for part, kind in zip(parts, option.parts, strict=True))
