"""Periods: which columns hold a row's time, and how to read them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from timeloom.errors import UsageError, did_you_mean

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
                raise UsageError(f"Period {option}={name!r} is no column name; give a text")
        if self.start == self.end:
            raise UsageError(f"a period needs two columns, but start and end are both {self.start!r}")
        spelled = _SPELLINGS.get(self.closed, self.closed)
        if spelled not in _START_SHIFT:
            known = [*_START_SHIFT, *_SPELLINGS]
            raise UsageError(f"closed={self.closed!r} is unknown. {did_you_mean(str(self.closed), known)}")
        object.__setattr__(self, "closed", spelled)
        if isinstance(self.open_end, list | set | frozenset):
            object.__setattr__(self, "open_end", tuple(self.open_end))

    @classmethod
    def of(cls, value: "PeriodLike") -> "Period":
        """Read a period from what a verb accepts: a Period, or a pair of column names."""
        if isinstance(value, Period):
            return value
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise UsageError(f"period={value!r} is no period; give (start, end) or tl.Period(start, end, ...)")
        names = tuple(value)
        if len(names) != 2:
            raise UsageError(f"period={value!r} has {len(names)} parts; give two column names, start and end")
        return cls(*names)

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


PeriodLike = Period | tuple[str, str] | list[str]
