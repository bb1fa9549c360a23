"""The options of a verb, read from its signature and its docstring.

The command line and the pipeline files both offer every registered verb; neither knows any verb by name.
"""

import inspect
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from functools import cache
from typing import Any

from timeloom.model.period import Period
from timeloom.model.relation import Relation
from timeloom.model.slide import Slide
from timeloom.operators.registry import Verb


class Kind(Enum):
    """What values an option takes; the text says it to the user."""

    FLAG = "true or false"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    CHOICE = "one of a few words"
    CHOICES = "one of a few words, or a list of two"
    NAMES = "one or more names"
    TUPLE = "a list of fixed length"
    SPAN = "a number of ticks, or text such as '5 minutes'"
    PERIOD = "two column names, start and end, or one of instants"
    SLIDE = "start, range and slide of a window"
    MAPPING = "names and what each stands for"
    RELATION = "a relation, such as 'during' or 'meets | met_by'"
    VALUE = "any value"


@dataclass(frozen=True)
class Option:
    """One option of a verb."""

    name: str
    kind: Kind
    required: bool
    default: Any
    help: str = ""
    choices: tuple[str, ...] = ()
    parts: tuple[type, ...] = ()


def options_of(verb: Verb) -> tuple[Option, ...]:
    """All parameters of a verb except its tables."""
    return _options(verb.function, verb.inputs)


@cache
def _options(function: Any, inputs: tuple[str, ...]) -> tuple[Option, ...]:
    notes = parameter_notes(inspect.getdoc(function) or "")
    found = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if name in inputs or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        kind, choices, parts = kind_of(parameter.annotation)
        found.append(Option(name, kind, required, default, notes.get(name, ""), choices, parts))
    return tuple(found)


def kind_of(annotation: Any) -> tuple[Kind, tuple[str, ...], tuple[type, ...]]:
    """Classify a type annotation; choices of a Literal and part types of a tuple come along.

    >>> kind_of(int | None)[0]
    <Kind.INTEGER: 'a whole number'>
    >>> kind_of(typing.Literal["a", "b"])[1]
    ('a', 'b')
    """
    members = [member for member in _members(annotation) if member is not type(None)]
    origins = [typing.get_origin(member) or member for member in members]
    for mark, kind in ((Period, Kind.PERIOD), (Slide, Kind.SLIDE), (Relation, Kind.RELATION), (timedelta, Kind.SPAN)):
        if mark in origins and date not in origins:
            return kind, (), ()
    if any(isinstance(origin, type) and issubclass(origin, Mapping) for origin in origins):
        return Kind.MAPPING, (), ()
    words = tuple(
        word
        for member, origin in zip(members, origins, strict=True)
        if origin is typing.Literal
        for word in typing.get_args(member)
    )
    if bool in members and words and len(members) == 2:
        return Kind.FLAG, words, ()
    if members and all(origin is typing.Literal for origin in origins):
        return Kind.CHOICE, tuple(word for member in members for word in typing.get_args(member)), ()
    if words and set(origins) == {typing.Literal, tuple}:
        return Kind.CHOICES, words, ()
    if origins == [tuple]:
        parts = tuple(part for part in typing.get_args(members[0]) if part is not Ellipsis)
        return Kind.TUPLE, (), parts
    plain = {bool: Kind.FLAG, int: Kind.INTEGER, float: Kind.NUMBER, str: Kind.TEXT}
    if len(members) == 1 and members[0] in plain:
        return plain[members[0]], (), ()
    if _takes_names(members, origins):
        return Kind.NAMES, (), ()
    return Kind.VALUE, (), ()


def _members(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(annotation) for part in _members(member))
    return (annotation,)


def _takes_names(members: list[Any], origins: list[Any]) -> bool:
    """Tell a text, a sequence of texts, or either from everything else."""
    series = [
        member
        for member, origin in zip(members, origins, strict=True)
        if isinstance(origin, type) and issubclass(origin, Iterable) and origin is not str
    ]
    rest = [member for member in members if member not in series]
    return (
        bool(series)
        and all(member is str for member in rest)
        and all(set(typing.get_args(member)) <= {str, Ellipsis} for member in series)
    )


def parameter_notes(docstring: str) -> dict[str, str]:
    """Read the descriptions of parameters from a numpydoc docstring.

    >>> parameter_notes("Do it.\\n\\nParameters\\n----------\\na, b\\n    Two\\n    things.\\n")
    {'a': 'Two things.', 'b': 'Two things.'}
    """
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", docstring, re.M | re.S)
    if section is None:
        return {}
    notes: dict[str, str] = {}
    for head, body in re.findall(r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", section.group(1), re.M):
        text = " ".join(body.split()).replace("``", "")
        for name in head.partition(" : ")[0].split(","):
            notes[name.strip().lstrip("*")] = text
    return notes


def summary_of(verb: Verb) -> str:
    """The first line of a verb's docstring."""
    return (inspect.getdoc(verb.function) or "").partition("\n")[0]
