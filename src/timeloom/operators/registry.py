"""All verbs, by name. The command line and pipelines are derived from here, so a new verb appears there by itself."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from timeloom.model.options import checked

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Verb:
    """A public verb: its function, the names of its table parameters, and how to explain a call.

    ``explain`` makes an `Explanation` from the arguments of a call by name; None when there is nothing to choose.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    explain: Callable[..., Any] | None = None


_VERBS: dict[str, Verb] = {}


def verb(*, inputs: tuple[str, ...], explain: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Register a function as a verb: its arguments are checked by their annotations before it runs."""

    def register(function: F) -> F:
        guarded = checked(function)
        _VERBS[function.__name__] = Verb(function.__name__, guarded, inputs, explain)
        return guarded

    return register


def verbs() -> dict[str, Verb]:
    """Every verb, sorted by name: each module beside this one that registers a function adds one."""
    package = importlib.import_module("timeloom.operators")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"timeloom.operators.{module.name}")
    return dict(sorted(_VERBS.items()))
