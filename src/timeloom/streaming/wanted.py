"""Which columns the results of a streaming join have, and what is asked of a pair beyond its relation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.conditions import Condition
from timeloom.model.join import choose, suffix_pair
from timeloom.model.naming import Keys, column_names, joined_columns
from timeloom.streaming.deciding import EVENTS


class Columns(NamedTuple):
    """The columns of a side: id, and either time and event, or start and end."""

    id: str = "id"
    time: str = "time"
    event: str = "event"
    start: str = "start"
    end: str = "end"

    @classmethod
    def of(cls, given: "dict[str, str] | None") -> "Columns":
        """Read the option ``event_columns``."""
        for role, name in (given or {}).items():
            if role not in cls._fields:
                raise UsageError(
                    f"event_columns= names {role!r}, which is no column of a stream. {did_you_mean(role, cls._fields)}"
                )
            if not isinstance(name, str):
                raise UsageError(f"event_columns= takes column names, not {name!r}")
        return cls(**(given or {}))


RESULT = ("left_id", "right_id", "at", "reason")
"""The columns of results beside the keys."""


EVERYTHING: Literal["*"] = "*"
"""All columns of both sides."""

SINGLE = ("semi", "anti")
"""The kinds of join that answer left rows only."""

PAYLOAD, PERIOD, OVERLAP, ID, KEY, UNKNOWN = "payload", "period", "overlap", "id", "key", "unknown"
"""Where a column comes from; unknown ones may come with the first table of a side that has not come yet."""

Names = Sequence[str] | None
"""The columns of a side that are no keys and say nothing of its events; None while no table of it has come."""


class Source(NamedTuple):
    """Where the values of a column come from: the kind, the side, and the column, endpoint or measure."""

    kind: str
    side: int = 0
    column: str = ""


class Layout(NamedTuple):
    """The columns of results beside keys, ids and instants, by their names, and those that the condition reads."""

    chosen: dict[str, Source]
    tested: dict[str, Source]

    def carried(self, side: int) -> tuple[str, ...]:
        """The columns of a side that must be kept as long as its rows may match."""
        every = (*self.chosen.values(), *self.tested.values())
        return tuple(dict.fromkeys(source.column for source in every if source[:2] == (PAYLOAD, side)))


@dataclass(frozen=True)
class Wanted:
    """The options ``columns``, ``suffixes``, ``overlap`` and ``where``, with the meanings that they have in `join`.

    Results have the columns that are asked for; ``"*"`` asks for all that are no keys and say nothing of the events.
    """

    how: str
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] | Literal["*"] | None = None
    suffixes: tuple[str, str] = ("", "_right")
    overlap: bool | str = False
    where: Condition | None = None
    roles: Columns = field(default_factory=Columns)
    knows_keys: bool = True
    """Whether keys are at hand where conditions are judged; if not, left rows carry those that are asked for."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "suffixes", suffix_pair(self.suffixes))
        if not isinstance(self.overlap, bool):
            choose("overlap", self.overlap, ("length",))
        if self.overlap and self.how in SINGLE:
            raise UsageError(
                f"overlap={self.overlap!r} needs pairs of rows, but how={self.how!r} returns left rows only"
            )

    @property
    def judges(self) -> bool:
        """Whether the relation alone does not decide which rows have a partner."""
        return self.where is not None and self.how not in ("inner", "semi")

    @property
    def kind(self) -> str:
        """The kind of join on periods alone from which this one follows."""
        return "inner" if self.where is not None and self.how == "semi" else self.how

    def carries(self, left: Names, right: Names) -> bool:
        """Whether more than ids may have to be kept of rows with these columns."""
        if self.overlap or self.where is not None:
            return True
        if self.columns != EVERYTHING:
            return bool(set(self.columns or ()) - {*RESULT, *self.keys})
        return left is None or right is None or bool(left or (right and self.how not in SINGLE))

    @cached_property
    def asks(self) -> bool:
        """Whether more than ids is asked for."""
        return self.columns == EVERYTHING or self.carries((), ())

    def layout(self, left: Names, right: Names) -> Layout:
        """The columns of results of sides that have these columns."""
        if not self.asks:
            return Layout({}, {})
        whole = self._known(left, right)
        shown = self._known(left, ()) if self.how in SINGLE else whole
        names = self.columns
        if names is None or names == EVERYTHING:
            kinds = (OVERLAP,) if names is None else (PAYLOAD, OVERLAP)
            names = tuple(name for name, source in shown.items() if source.kind in kinds and name not in self.keys)
        is_known = left is not None and (right is not None or self.how in SINGLE)
        chosen = {}
        for name in names:
            if name not in shown and name not in ("at", "reason") and is_known:
                raise UsageError(
                    f"columns= asks for {name!r}, which the result does not have. {did_you_mean(name, list(shown))}"
                )
            chosen[name] = shown.get(name, Source(UNKNOWN))
        chosen = {name: source for name, source in chosen.items() if name not in (*RESULT, *self.keys)}
        return Layout(chosen, self._tested(whole, is_known=left is not None and right is not None))

    def _tested(self, known: dict[str, Source], *, is_known: bool) -> dict[str, Source]:
        if self.where is None:
            return {}
        if not is_known:
            found = {name.lower(): source for name, source in known.items()}
            return {name: found[name.lower()] for name in self.where.names if name.lower() in found}
        return {name: known[output] for name, output in self.where.resolve(list(known)).items()}

    def _known(self, left: Names, right: Names) -> dict[str, Source]:
        """All columns that results can have, by their names."""
        found: dict[str, Source] = {}
        for column in joined_columns(left or (), right or (), Keys(), suffixes=self.suffixes, overlap=self.overlap):
            if column.name in (*RESULT, *self.keys):
                if self.columns == EVERYTHING:
                    raise UsageError(
                        f"the result would have more than one column named {column.name!r}; choose other suffixes= "
                        f"(now {self.suffixes!r}), rename it, or leave it out by columns="
                    )
                continue
            if column.origin in ("left", "right"):
                found[column.name] = Source(PAYLOAD, int(column.origin == "right"), column.left or column.right)
            else:
                found[column.name] = Source(OVERLAP, 0, column.origin)
        for side, suffix in enumerate(("", "") if self.how in SINGLE and not right else self.suffixes):
            for endpoint in ("start", "end"):
                found.setdefault(getattr(self.roles, endpoint) + suffix, Source(PERIOD, side, endpoint))
        found |= {name: Source(KEY if self.knows_keys else PAYLOAD, 0, name) for name in self.keys}
        return found | {"left_id": Source(ID, 0), "right_id": Source(ID, 1)}

    def perhaps_carried(self, names: Sequence[str], side: int) -> tuple[str, ...]:
        """The columns of a side that results may have, whatever the other side has."""
        if self.columns == EVERYTHING and not (side and self.how in SINGLE):
            return tuple(names)
        named = () if self.columns is None or self.columns == EVERYTHING else self.columns
        asked = {*named, *(self.where.names if self.where else ())}
        asked |= {name.lower() for name in asked}
        return tuple(name for name in names if not asked.isdisjoint(_spellings(name, self.suffixes[side])))


def _spellings(name: str, suffix: str) -> set[str]:
    return {name, name + suffix, name.lower(), (name + suffix).lower()}


def payload_names(names: Sequence[str], keys: Sequence[str], roles: Columns, arrival: str) -> tuple[str, ...]:
    """The columns of a table that are no keys, and that say nothing of its events."""
    told = (roles.id, roles.time, roles.event) if arrival == EVENTS else (roles.id, roles.start, roles.end)
    return tuple(name for name in names if name not in keys and name not in told)


def read_columns(
    columns: "str | Sequence[str] | Mapping[str, str] | None", event_columns: "dict[str, str] | None"
) -> tuple[tuple[str, ...] | Literal["*"] | None, Columns]:
    """Read the options ``columns`` and ``event_columns``; a mapping is an earlier spelling of the second one."""
    if columns == EVERYTHING:
        return EVERYTHING, Columns.of(event_columns)
    if isinstance(columns, Mapping):
        if event_columns is not None:
            raise UsageError("columns= is a mapping beside event_columns=; give the names of event columns once")
        return None, Columns.of(dict(columns))
    return None if columns is None else column_names("columns", columns), Columns.of(event_columns)
