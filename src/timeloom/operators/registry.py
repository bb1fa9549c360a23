"""All verbs, by name. The command line and pipelines are derived from here, so a new verb appears there by itself."""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

from timeloom.model.options import checked
from timeloom.operators.again import Understood
from timeloom.operators.call import Call, PlannedCall

P = ParamSpec("P")


@dataclass(frozen=True)
class Verb:
    """A public verb: its function, the names of its table parameters, and what it makes of a call.

    ``call`` takes what ``function`` takes and runs nothing; ``explains`` tells whether such a call has a plan,
    ``finds_faults`` whether each row of its result is a fault of a table.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    call: Callable[..., Call]
    explains: bool
    finds_faults: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """The tables that every call has; others may be left out."""
        parameters = inspect.signature(self.function).parameters
        return tuple(name for name in self.inputs if parameters[name].default is inspect.Parameter.empty)


_PIPELINES = "pyspark.pipelines"
"""The module that has been imported where datasets of Spark's pipelines are defined."""

_VERBS: dict[str, Verb] = {}


def verb(
    *, inputs: tuple[str, ...], varying: tuple[str, ...] = (), finds_faults: bool = False
) -> Callable[[Callable[P, Call]], Callable[P, Any]]:
    """Register a function as a verb: its arguments are checked by their annotations, and the call that it makes is run.

    A function that returns a `PlannedCall` makes a verb that `explain` knows. ``varying`` are parameters behind the
    inputs that differ from call to call; of a verb that ``finds_faults`` each row of the result is one.
    """

    def register(function: Callable[P, Call]) -> Callable[P, Any]:
        name, call = function.__name__, checked(function)
        signature = inspect.signature(function, eval_str=True)
        understood = Understood(len(inputs), (*inputs, *varying))

        @wraps(function)
        def run(*args: P.args, **options: P.kwargs) -> Any:
            if _PIPELINES in sys.modules:
                return _knowing(call, len(inputs), args, options)
            found = understood.find(args, options)
            if found is None:
                return call(*args, **options).run()
            known, given = found
            again = understood.recall(known)
            if again is not None:
                return again(*given)
            made = call(*args, **options)
            if made.again is not None:
                understood.remember(known, made.again)
            return made.run()

        run.__annotations__ = {**function.__annotations__, "return": Any}
        run.__signature__ = signature.replace(return_annotation=Any)  # type: ignore[attr-defined]
        planned = issubclass(signature.return_annotation, PlannedCall)
        _VERBS[name] = Verb(name, run, inputs, call, planned, finds_faults)
        return run

    return register


def _knowing(call: Callable[..., Call], inputs: int, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a call where datasets of Spark's pipelines may be being defined: results know their columns there."""
    from timeloom.engines.spark.cluster.pipelines import knowing_result

    local = {name: value for name, value in options.items() if name != "strategy"}
    tables, rest = args[:inputs], args[inputs:]
    return knowing_result(call(*args, **options).run(), tables, lambda *few: call(*few, *rest, **local).run())


def verbs() -> dict[str, Verb]:
    """Every verb, sorted by name: each module beside this one that registers a function adds one."""
    package = importlib.import_module("timeloom.operators")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"timeloom.operators.{module.name}")
    return dict(sorted(_VERBS.items()))
