"""The verbs as methods of frames: ``import timeloom.accessors``, then ``df.timeloom.join(other, "during")``.

pandas, Polars and PySpark each get the name `timeloom` on their frames, as far as they are installed.
"""

import importlib.util
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from timeloom.errors import did_you_mean
from timeloom.operators.explain import explain as explain_call
from timeloom.operators.registry import verbs


class Verbs:
    """The verbs with a frame as their first table.

    Examples
    --------
    >>> import pandas as pd, timeloom.accessors
    >>> stays = pd.DataFrame({"room": [1, 1], "start": [0, 3], "end": [3, 5]})
    >>> stays.timeloom.coalesce().to_dict("records")
    [{'room': 1, 'start': 0, 'end': 5}]
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def explain(self, verb: "str | Callable[..., Any]", *args: Any, **options: Any) -> Any:
        """Say what a call would do."""
        return explain_call(verb, self._frame, *args, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        known = verbs()
        if name not in known:
            raise AttributeError(f"there is no verb {name!r}. {did_you_mean(name, known)}")
        return wraps(known[name].function)(partial(known[name].function, self._frame))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *verbs()]


def _install() -> None:
    if importlib.util.find_spec("pandas"):
        import pandas as pd

        pd.api.extensions.register_dataframe_accessor("timeloom")(Verbs)
    if importlib.util.find_spec("polars"):
        import polars as pl

        pl.api.register_dataframe_namespace("timeloom")(Verbs)
        pl.api.register_lazyframe_namespace("timeloom")(Verbs)
    if importlib.util.find_spec("pyspark"):
        from pyspark.sql import DataFrame

        DataFrame.timeloom = property(Verbs)  # type: ignore[attr-defined]


_install()
