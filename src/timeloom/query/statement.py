"""A query as data."""

from dataclasses import dataclass
from typing import Any

from timeloom.model.join import How
from timeloom.model.relation import Relation
from timeloom.model.slide import Meaning, Slide
from timeloom.query.text import Token

PeriodColumns = tuple[str, str]


@dataclass(frozen=True)
class TableRef:
    """A table by name, under an alias, with its period columns if they are not the usual ones."""

    name: str
    alias: str
    token: Token
    period: PeriodColumns | None = None


@dataclass(frozen=True)
class WindowSource:
    """A bitemporal table seen through sliding windows."""

    table: TableRef
    sys: Slide
    app: Slide
    ratio: tuple[int, int] = (1, 1)
    steps: int = 0
    meaning: Meaning = "snapshot"
    sys_period: PeriodColumns = ("sys_start", "sys_end")
    app_period: PeriodColumns = ("app_start", "app_end")


@dataclass(frozen=True)
class JoinSource:
    """Two tables joined by time. Without a relation the join is sequenced."""

    left: TableRef
    right: TableRef
    how: How
    relation: Relation | None
    left_on: tuple[str, ...] = ()
    right_on: tuple[str, ...] = ()


Source = TableRef | WindowSource | JoinSource


@dataclass(frozen=True)
class Statement:
    """A query: where the rows come from, the ordinary SELECT (of sqlglot) around it, and where its clauses begin."""

    text: str
    source: Source
    select: Any
    clauses: dict[str, int]
