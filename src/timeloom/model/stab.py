"""The stab as data: what was asked, checked once, for every engine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from timeloom.errors import UsageError, shown
from timeloom.model.period import Period
from timeloom.model.policy import Policy


@dataclass(frozen=True)
class StabRequest:
    """One call of ``stab``."""

    at: tuple[Any, ...]
    period: Period
    policy: Policy

    @classmethod
    def of(cls, at: Any, period: Period, policy: Policy) -> "StabRequest":
        """Read one instant or several; a text may hold several with commas between."""
        return cls(_several(at), period, policy)


def _several(at: Any) -> tuple[Any, ...]:
    if isinstance(at, type | ModuleType | Mapping) or (hasattr(at, "dtype") and getattr(at, "ndim", 0) > 1):
        raise UsageError(f"at={shown(at)} is no instant; give one of the period's own type, or a list of them")
    if isinstance(at, str):
        instants = tuple(part.strip() for part in at.split(","))
    elif hasattr(at, "to_pylist"):
        instants = tuple(at.to_pylist())
    elif getattr(at, "ndim", 0) == 1 and hasattr(at, "dtype"):
        instants = tuple(_listed(at))
    elif isinstance(at, Iterable):
        instants = tuple(at)
    else:
        instants = (at,)
    for number, instant in enumerate(instants):
        if instant is None or (isinstance(instant, str) and not instant):
            place = "" if len(instants) == 1 else f"[{number}]"
            raise UsageError(
                f"at{place} is {shown(instant)}; give an instant of the period's own type, or a list of them"
            )
    return instants


def _listed(values: Any) -> list[Any]:
    """The elements of a NumPy array or a series; NumPy would list nanoseconds as integers."""
    return list(values) if values.dtype.kind == "M" else list(values.tolist())
