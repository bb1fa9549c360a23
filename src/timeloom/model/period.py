"""Periods: which columns hold a row's time, and how to read them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from timeloom.errors import UsageError, did_you_mean, shown

Closed = Literal["left", "right", "both", "neither"]

_SPELLINGS = {"[)": "left", "(]": "right", "[]": "both", "()": "neither"}
_START_SHIFT = {"left": 0, "both": 0, "right": 1, "neither": 1}
_END_SHIFT = {"left": 0, "both": 1, "right": 1, "neither": 0}


@dataclass(frozen=True)
class Period:
    """The two columns of a table that say from when and until when a row holds.

    Parameters
    ----------
    start, end
        Column names: integers, dates or timestamps, both of one type.
    closed
        Which ends belong to the period: ``"left"`` (the default, ``[start, end)``), ``"right"``, ``"both"`` or
        ``"neither"``; the spellings ``"[)"``, ``"(]"``, ``"[]"`` and ``"()"`` mean the same.
    open_end
        A sentinel, or a list of them, that means "until further notice". A null end always does.
    truncate
        Accept nanosecond timestamps that are no whole microseconds, and cut them off.

    Examples
    --------
    >>> Period("valid_from", "valid_to", closed="[]").closed
    'both'
    """

    start: str = "start"
    end: str = "end"
    closed: Closed = "left"
    open_end: Any = None
    truncate: bool = False

    def __post_init__(self) -> None:
        for option, name in (("start", self.start), ("end", self.end)):
            if not isinstance(name, str):
                raise UsageError(f"Period {option}={shown(name)} is no column name; give a text")
        if self.start == self.end:
            raise UsageError(f"a period needs two columns, but start and end are both {self.start!r}")
        spelled = _SPELLINGS.get(self.closed, self.closed) if isinstance(self.closed, str) else None
        if spelled not in _START_SHIFT:
            known = [*_START_SHIFT, *_SPELLINGS]
            raise UsageError(f"closed={shown(self.closed)} is unknown. {did_you_mean(self.closed, known)}")
        object.__setattr__(self, "closed", spelled)
        if not isinstance(self.truncate, bool):
            raise UsageError(f"truncate={shown(self.truncate)} is no choice; give True or False")
        if isinstance(self.open_end, list):
            object.__setattr__(self, "open_end", tuple(self.open_end))
        elif isinstance(self.open_end, set | frozenset):  # results write the first sentinel: it must be the same always
            object.__setattr__(self, "open_end", tuple(sorted(self.open_end, key=repr)))

    @classmethod
    def of(cls, value: "PeriodLike") -> "Period":
        """Read a period from what a verb accepts: a Period, a pair of column names, or a mapping of its options.

        >>> Period.of({"start": "since", "end": "until", "closed": "[]"})
        Period(start='since', end='until', closed='both', open_end=None, truncate=False)
        """
        if isinstance(value, Period):
            return value
        if isinstance(value, Mapping):
            return cls._of_mapping(value)
        if not isinstance(value, tuple | list):
            raise UsageError(
                f"period={shown(value)} is no period; give (start, end), a mapping with start and end, or "
                "tl.Period(start, end, ...)"
            )
        if len(value) != 2:
            raise UsageError(f"period={shown(value)} has {len(value)} parts; give two column names, start and end")
        return cls(*value)

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any]) -> "Period":
        known = [field.name for field in fields(cls)]
        for name in value:
            if name not in known:
                raise UsageError(f"period={shown(value)} has an unknown {shown(name)}. {did_you_mean(name, known)}")
        for name in ("start", "end"):
            if name not in value:
                raise UsageError(
                    f"period={shown(value)} has no {name!r}; give the names of both columns, start and end"
                )
        return cls(**value)

    @property
    def start_shift(self) -> int:
        """Ticks to add to the column to get the first instant of the period."""
        return _START_SHIFT[self.closed]

    @property
    def end_shift(self) -> int:
        """Ticks to add to the column to get the first instant after the period."""
        return _END_SHIFT[self.closed]

    @property
    def sentinels(self) -> tuple[Any, ...]:
        """The values, besides null, that mean an open end."""
        if self.open_end is None:
            return ()
        return self.open_end if isinstance(self.open_end, tuple) else (self.open_end,)


PeriodLike = Period | tuple[str, str] | list[str] | Mapping[str, Any]
