"""A query as data: what it says about time, and where; all else is ranges of tokens that an engine will read."""

from dataclasses import dataclass, field
from typing import Literal

from timeloom.model.relation import Relation
from timeloom.model.slide import Meanings, Slide

Columns = tuple[str, str]
Range = tuple[int, int]
"""Tokens from the first up to, not including, the second."""

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]
JoinStyle = Literal["", "temporal", "asof", "natural", "positional"]
Axis = Literal["sys", "app"]

AXIS_COLUMNS: dict[Axis, Columns] = {"sys": ("sys_start", "sys_end"), "app": ("app_start", "app_end")}
USUAL: Columns = ("start", "end")


@dataclass(frozen=True)
class PeriodOf:
    """``a.period``: the period of a table, by its alias."""

    alias: int


@dataclass(frozen=True)
class PeriodValue:
    """``PERIOD (start, end)``: two expressions."""

    start: Range
    end: Range


@dataclass(frozen=True)
class Instant:
    """A point in time, which a period may contain."""

    value: Range


@dataclass(frozen=True)
class Predicate:
    """Two periods and the relation between them."""

    tokens: Range
    left: PeriodOf | PeriodValue
    relation: Relation
    right: PeriodOf | PeriodValue | Instant


@dataclass(frozen=True)
class Windows:
    """Sliding windows over a bitemporal table. A slide may start at NOW, when the query runs."""

    sys: Slide
    app: Slide
    ratio: tuple[int, int] = (1, 1)
    steps: int = 0
    meaning: Meanings = "snapshot"
    sys_period: Columns = AXIS_COLUMNS["sys"]
    app_period: Columns = AXIS_COLUMNS["app"]


@dataclass(frozen=True)
class TimeSpec:
    """``FOR SYSTEM_TIME …``: which versions of a table; ``values`` are the instants named."""

    token: int
    axis: Axis
    kind: Literal["as of", "from", "between", "all"]
    values: tuple[Range, ...]
    period: Columns | None


@dataclass(frozen=True)
class Factor:
    """What stands between two joins: a table, a query, a function, or joins in parentheses."""

    tokens: Range
    kind: Literal["table", "query", "other", "joins"]
    alias: str
    """The name by which columns refer to it, or nothing."""
    alias_tokens: Range
    """Alias and column names as they are written."""
    period: Columns | None = None
    windows: Windows | None = None
    times: tuple[TimeSpec, ...] = ()
    chain: "Chain | None" = None


@dataclass(frozen=True)
class Join:
    """A join with what stands to its right."""

    tokens: Range
    """The words of the join itself, such as LEFT JOIN."""
    style: JoinStyle
    kind: JoinKind
    right: Factor
    on: Range | None
    using: Range | None
    conjuncts: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Chain:
    """A first factor and the joins that follow it; commas stand between chains."""

    first: Factor
    joins: tuple[Join, ...]


@dataclass(frozen=True)
class Clause:
    """A clause after FROM: its name, its tokens with the name, and its parts between commas."""

    name: str
    tokens: Range
    parts: tuple[Range, ...]


@dataclass(frozen=True)
class Select:
    """One SELECT."""

    tokens: Range
    head: Range
    """SELECT and DISTINCT."""
    items: tuple[Range, ...]
    chains: tuple[Chain, ...]
    clauses: dict[str, Clause] = field(default_factory=dict)
    by_period: "Columns | PeriodOf | None" = None
    """The period of GROUP BY PERIOD."""
    keys: tuple[Range, ...] = ()
    """What GROUP BY names besides."""
    coalesced: Columns | None = None
    """The period of COALESCE PERIODS."""

    @property
    def windowed(self) -> Factor | None:
        """The table with windows, if it stands alone."""
        alone = len(self.chains) == 1 and not self.chains[0].joins
        first = self.chains[0].first if alone else None
        return first if first is not None and first.windows is not None else None


@dataclass(frozen=True)
class Definition:
    """A query with a name, before the query that uses it."""

    name: str
    tokens: Range
    body: "Query"


@dataclass(frozen=True)
class Query:
    """Definitions, and one SELECT or several with UNION, EXCEPT and INTERSECT between; ``parts`` are in order."""

    tokens: Range
    recursive: bool
    definitions: tuple[Definition, ...]
    parts: tuple["Select | Range", ...]
    as_table: bool
    """True where its rows are a table; False where it stands in an expression."""


@dataclass(frozen=True)
class Change:
    """``UPDATE`` or ``DELETE … FOR PORTION OF``."""

    kind: Literal["update", "delete"]
    table: int
    alias: str
    portion: tuple[Range, Range] | None
    at: Range | None
    values: tuple[tuple[int, Range], ...]
    where: Range | None


@dataclass(frozen=True)
class Statement:
    """A whole text: its query or change, and what was found at which token."""

    body: Query | Change
    queries: dict[int, Query]
    predicates: dict[int, Predicate]

    @property
    def temporal(self) -> bool:
        """True if anything in it is about time."""
        return isinstance(self.body, Change) or bool(self.predicates) or any(map(_temporal, self.queries.values()))


def _temporal(query: Query) -> bool:
    return any(_temporal_select(part) for part in query.parts if isinstance(part, Select))


def _temporal_select(select: Select) -> bool:
    named = select.by_period is not None or select.coalesced is not None
    return named or any(map(_temporal_chain, select.chains))


def _temporal_chain(chain: Chain) -> bool:
    factors = [chain.first, *(join.right for join in chain.joins)]
    if any(join.style in ("temporal", "asof") for join in chain.joins):
        return True
    return any(
        each.windows is not None or each.times or each.period or (each.chain and _temporal_chain(each.chain))
        for each in factors
    )
