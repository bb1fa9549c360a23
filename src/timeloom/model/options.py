"""Options checked by their types: whatever a public call takes is read from its signature, once, for every engine.

A value of the wrong kind is refused by the option's name, with what the option takes, before anything else happens.
NumPy's numbers and booleans become Python's, sequences of names become tuples.
"""

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence, Set
from functools import cache, partial, wraps
from numbers import Integral
from os import PathLike
from types import FunctionType
from typing import Any, TypeVar

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.period import Period
from timeloom.model.relation import Relation

F = TypeVar("F", bound=Callable[..., Any])
Reader = Callable[[Any], Any]
"""Gives a value as an annotation wants it, or refuses it."""


class Refused(Exception):  # noqa: N818 - a signal, never seen by users
    """The value is not of this type."""


def checked(function: F) -> F:
    """Refuse arguments that do not fit the annotations of a function or method, and unknown or missing ones."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        bound = bind(function, *args, **options)
        return function(*bound.args, **bound.kwargs)

    return typing.cast("F", call)


def checked_late(function: F) -> F:
    """Refuse unknown and missing arguments as `checked` does, for calls that look at the values themselves.

    A call that is as it should be costs nothing more; only one that fails is looked at.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            bind(function, *args, **options)
            raise

    return typing.cast("F", call)


def bind(function: Callable[..., Any], *args: Any, **options: Any) -> inspect.BoundArguments:
    """The arguments of a call by name, each as its annotation wants it."""
    function = inspect.unwrap(function)
    signature, readers = _signature(function)
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        raise UsageError(_misbound(function, signature, options, error)) from error
    for name, value in bound.arguments.items():
        if name in readers and value is not readers[name][0]:
            bound.arguments[name] = _read_argument(signature.parameters[name], readers[name][1], value)
    return bound


@cache
def _signature(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, tuple[Any, Reader]]]:
    """The signature of a function; of the parameters that say what they take, the default and how a value is read."""
    signature, readers = inspect.signature(function, eval_str=True), {}
    for name, parameter in signature.parameters.items():
        spread = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not spread and parameter.annotation is not parameter.empty:
            readers[name] = (parameter.default, _reader(parameter.annotation))
    return signature, readers


def _misbound(function: Any, signature: inspect.Signature, options: Iterable[str], error: TypeError) -> str:
    known = [name for name in signature.parameters if name != "self"]
    unknown = [name for name in options if name not in known]
    hint = f". {did_you_mean(unknown[0], known)}" if unknown else ""
    return f"{function.__name__}: {error}{hint}"


def _read_argument(parameter: inspect.Parameter, read: Reader, value: Any) -> Any:
    try:
        return read(value)
    except Refused:
        if isinstance(value, str) and not is_text(value):
            raise UsageError(
                f"{parameter.name}={shown(value)} has half of a surrogate pair; give text that can be written"
            ) from None
        wanted = " or ".join(_described(parameter.annotation))
        raise UsageError(
            f"{parameter.name}={shown(value)} is of type {type(value).__name__}; {parameter.name} takes {wanted}"
        ) from None


def _reader(annotation: Any) -> Reader:
    """What gives a value as the annotation wants it; members of a union are tried in turn.

    Periods and relations have readers of their own; here it only matters that the value can be one.
    """
    members = _members(annotation)
    if Period in members:
        return partial(_period, optional=None in members or type(None) in members)
    if Relation in members and str in members:
        return _relation
    if any(typing.get_origin(member) is PathLike for member in members):
        return _path
    readers = tuple(map(_member_reader, members))
    return readers[0] if len(readers) == 1 else partial(_first_of, readers)


def _first_of(readers: tuple[Reader, ...], value: Any) -> Any:
    for read in readers:
        try:
            return read(value)
        except Refused:
            continue
    raise Refused


def _members(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(annotation) for part in _members(member))
    return (annotation,)


def _member_reader(kind: Any) -> Reader:
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in _PLAIN:
        return _PLAIN[origin]
    if origin is typing.Literal:
        return _text
    if origin is tuple:
        return partial(_fixed, parts)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return partial(_instance, Mapping)
    if isinstance(origin, type) and issubclass(origin, Iterable) and parts and str in _members(parts[0]):
        return partial(_series, parts[0])
    if origin is Callable:
        return _called
    if getattr(origin, "__name__", "") == "ndarray":
        return _array
    return partial(_instance, origin) if isinstance(origin, type) else _anything


def _array(value: Any) -> Any:
    return value if hasattr(value, "__array__") else _instance(list | tuple | range, value)  # type: ignore[arg-type]


def _anything(value: Any) -> Any:
    return value


def _period(value: Any, optional: bool) -> Any:
    if value is None and optional:
        return value
    pair = isinstance(value, tuple | list) and all(isinstance(name, str) for name in value)
    if not pair and not isinstance(value, Period | str | Mapping):
        raise Refused
    return value


def _relation(value: Any) -> Any:
    if isinstance(value, str | Relation | FunctionType):
        return value
    for part in (parts := _series(Any, value)):
        if not isinstance(part, str | Relation):
            raise Refused
    return parts


def _path(value: Any) -> Any:
    if not isinstance(value, PathLike) and not (is_text(value) and value and "\0" not in value):
        raise Refused
    return value


def _instance(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise Refused
    return value


def _called(value: Any) -> Any:
    if not callable(value):
        raise Refused
    return value


def _nothing(value: Any) -> None:
    if value is not None:
        raise Refused


def _flag(value: Any) -> bool:
    if not isinstance(value, bool) and not _is_numpy_flag(value):
        raise Refused
    return bool(value)


def _is_numpy_flag(value: Any) -> bool:
    """Tell a boolean of NumPy's; where nobody has imported NumPy there is none."""
    if "numpy" not in sys.modules:
        return False
    from numpy import bool_

    return isinstance(value, bool_)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or type(value).__name__ == "timedelta64":
        raise Refused
    return int(value)


def _text(value: Any) -> str:
    if not is_text(value):
        raise Refused
    return typing.cast("str", value)


def is_text(value: object) -> bool:
    """Tell texts that can be written from everything else: a lone surrogate has no bytes."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _fixed(parts: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list) or (Ellipsis not in parts and len(value) != len(parts)):
        raise Refused
    kinds = [parts[0]] * len(value) if Ellipsis in parts else parts
    return tuple(_reader(kind)(part) for kind, part in zip(kinds, value, strict=True))


def _series(kind: Any, value: Any) -> tuple[Any, ...]:
    """Several texts in an order of their own; sets have none."""
    unordered = isinstance(value, Set) and not isinstance(value, KeysView)
    if isinstance(value, str | bytes | bytearray | Mapping | type) or unordered or not isinstance(value, Iterable):
        raise Refused
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__dataframe__"):
        raise Refused
    return tuple(map(_reader(kind), value))


_PLAIN: dict[Any, Callable[[Any], Any]] = {
    Any: lambda value: value,
    object: lambda value: value,
    type(None): _nothing,
    None: _nothing,
    bool: _flag,
    int: _integer,
    str: _text,
}
_WORDS = {
    bool: "True or False",
    int: "a whole number",
    str: "a text",
    type(None): "None",
}


def _described(annotation: Any) -> list[str]:
    """What an annotation allows, in words."""
    words = []
    members = _members(annotation)
    if Period in members:
        words.append("two column names, start and end, or a Period, or one column of instants")
        members = tuple(member for member in members if member is type(None))
    if Relation in members and str in members:
        return ["the name of a relation, a Relation, or a list of these"]
    for member in members:
        origin, parts = typing.get_origin(member) or member, typing.get_args(member)
        if member in _WORDS:
            words.append(_WORDS[member])
        elif origin is typing.Literal:
            words.append("one of " + ", ".join(map(repr, parts)))
        elif origin is tuple:
            words.append("a pair of texts" if parts == (str, str) else f"a tuple of {len(parts)}")
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            words.append("a mapping")
        elif isinstance(origin, type) and issubclass(origin, Sequence | Iterable) and parts:
            words.append("a list of texts")
        elif origin is Callable:
            words.append("a function")
        else:
            words.append(f"a {getattr(origin, '__name__', str(origin))}")
    words = list(dict.fromkeys(words))
    return [word for word in words if word != "None"] + (["None"] if "None" in words else [])
