"""A call of a verb, understood and checked, before anything has run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from timeloom.model.explanation import Explanation


@dataclass(frozen=True)
class Call:
    """What a verb makes of its arguments: how to get the result, and nothing to choose on the way.

    ``again`` runs a call with the same options on other tables (see `operators.again`).
    """

    run: Callable[[], Any]
    again: Callable[..., Any] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class PlannedCall(Call):
    """A call that can be run in several ways, and that can say which one it takes. Both read one request."""

    explain: Callable[[], Explanation]
