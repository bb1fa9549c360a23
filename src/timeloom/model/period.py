"""Periods: which columns hold a row's time, and how to read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import Any, Literal, get_args

from timeloom.errors import UsageError, did_you_mean, shown

Closed = Literal["left", "right", "both", "neither"]
Form = Literal["plain", "interval", "int4range", "int8range", "daterange", "tsrange", "tstzrange"]

_SPELLINGS = {"[)": "left", "(]": "right", "[]": "both", "()": "neither"}
_UNNAMED = "\0"  # no column can have this name

_START_SHIFT = {"left": 0, "both": 0, "right": 1, "neither": 1}
_END_SHIFT = {"left": 0, "both": 1, "right": 1, "neither": 0}


@dataclass(frozen=True)
class Period:
    """The columns of a table that say from when and until when a row holds: two, or one.

    Parameters
    ----------
    start, end
        Column names: integers, dates or timestamps, both of one type. One column alone holds instants: its rows are
        active for one tick. A column of pandas' intervals is a period by itself, with its own ``closed``.
    closed
        Which ends belong to the period: ``"left"`` (the default, ``[start, end)``), ``"right"``, ``"both"`` or
        ``"neither"``; the spellings ``"[)"``, ``"(]"``, ``"[]"`` and ``"()"`` mean the same.
    open_end
        A sentinel, or a list of them, that means "until further notice". A null end always does.
    truncate
        Accept nanosecond timestamps that are no whole microseconds, and cut them off.
    form
        For one column of range texts as PostgreSQL writes them, ``[2024-01-01,2024-02-01)``, the name of their type:
        ``"int4range"``, ``"int8range"``, ``"daterange"``, ``"tsrange"`` or ``"tstzrange"``.

    Examples
    --------
    >>> Period("valid_from", "valid_to", closed="[]").closed
    'both'
    >>> Period("at").is_instant
    True
    """

    start: str = _UNNAMED
    end: str = _UNNAMED
    closed: Closed = "left"
    open_end: Any = None
    truncate: bool = False
    form: Form = field(default="plain", repr=False)

    def __post_init__(self) -> None:
        self._name_columns()
        for option, name in (("start", self.start), ("end", self.end)):
            if not isinstance(name, str):
                raise UsageError(f"Period {option}={shown(name)} is no column name; give a text")
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
        self._check_form()

    def _name_columns(self) -> None:
        """One name alone is that of an instant, which is the period [at, at]; no name at all means the default ones."""
        if (self.end is None or self.end is _UNNAMED) and self.start is not _UNNAMED:
            if not isinstance(self.closed, str) or self.closed not in ("left", "both", "[)", "[]"):
                raise UsageError(
                    f"closed={shown(self.closed)} was given for the single column {shown(self.start)}, whose rows are "
                    "active at that instant; leave it out, or name two columns"
                )
            object.__setattr__(self, "end", self.start)
            is_plain = isinstance(self.form, str) and self.form == "plain"
            object.__setattr__(self, "closed", "both" if is_plain else "left")
        for option in ("start", "end"):
            if getattr(self, option) is _UNNAMED:
                object.__setattr__(self, option, option)

    def _check_form(self) -> None:
        if not isinstance(self.form, str) or self.form not in get_args(Form):
            raise UsageError(f"form={shown(self.form)} is unknown. {did_you_mean(self.form, get_args(Form))}")
        if self.form != "plain" and self.start != self.end:
            raise UsageError(f"form={self.form!r} is for a period of one column, but {self.end!r} was named, too")
        if self.form == "plain" and self.start == self.end and self.closed != "both":
            raise UsageError(
                f"a period needs two columns, but start and end are both {self.start!r}; for instants name it once"
            )
        if self.start == self.end and self.open_end is not None:
            raise UsageError(
                f"open_end={shown(self.open_end)} was given for the single column {self.start!r}; it is for two"
            )

    @classmethod
    def of(cls, value: "PeriodLike") -> "Period":
        """Read a period from what a verb accepts: a Period, one or two column names, or a mapping of its options.

        >>> Period.of({"start": "since", "end": "until", "closed": "[]"})
        Period(start='since', end='until', closed='both', open_end=None, truncate=False)
        """
        if isinstance(value, Period):
            return value
        if isinstance(value, Mapping):
            return cls._of_mapping(value)
        if isinstance(value, str) and value:
            return cls(value)
        if not isinstance(value, tuple | list):
            raise UsageError(
                f"period={shown(value)} is no period; give (start, end), the name of a column of instants, a mapping "
                "with start and end, or tl.Period(start, end, ...)"
            )
        if len(value) != 2:
            raise UsageError(f"period={shown(value)} has {len(value)} parts; give two column names, start and end")
        return cls(*value)

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any]) -> "Period":
        known = ["at", *(option.name for option in fields(cls))]
        for name in value:
            if name not in known:
                raise UsageError(f"period={shown(value)} has an unknown {shown(name)}. {did_you_mean(name, known)}")
        if "at" in value:
            if "start" in value or "end" in value:
                raise UsageError(f"period={shown(value)} has an instant, at, and two ends; give one or the other")
            return cls(value["at"], **{name: option for name, option in value.items() if name != "at"})
        for name in ("start", "end"):
            if name not in value:
                raise UsageError(
                    f"period={shown(value)} has no {name!r}; give the names of both columns, start and end, or at for "
                    "a single column of instants"
                )
        return cls(**value)

    def __str__(self) -> str:
        """The period as it is written in mathematics, with what else it says.

        >>> print(Period("since", "until", closed="both", open_end=9999))
        [since, until], open at 9999
        """
        brackets = next(spelling for spelling, name in _SPELLINGS.items() if name == self.closed)
        opened = f", open at {', '.join(map(str, self.sentinels))}" if self.sentinels else ""
        return f"{brackets[0]}{', '.join(self.columns)}{brackets[1]}{opened}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"

    @property
    def is_instant(self) -> bool:
        """Whether one column holds instants."""
        return self.start == self.end and self.form == "plain"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns: two, or one."""
        return (self.start,) if self.start == self.end else (self.start, self.end)

    @property
    def wide(self) -> "Period":
        """A period that can last: of instants, two columns with the default names, half-open."""
        return Period() if self.is_instant else self

    def placed(self, names: Sequence[str]) -> list[str]:
        """The columns of a result whose periods may last, given those of the input: two in the place of instants."""
        if not self.is_instant:
            return list(names)
        for name in self.wide.columns:
            if name in names and name != self.start:
                raise UsageError(
                    f"the result's periods last longer than the instants in {self.start!r} and need columns "
                    f"{' and '.join(map(repr, self.wide.columns))}, but there is a {name!r} already; rename it"
                )
        at = list(names).index(self.start)
        return [*names[:at], *self.wide.columns, *names[at + 1 :]]

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


PeriodLike = Period | str | tuple[str, str] | list[str] | Mapping[str, Any]
