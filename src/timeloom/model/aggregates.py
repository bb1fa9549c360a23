"""The aggregates, one record each: all that verbs, indexes, SQL and engines know of them beside their kernels.

A record says what an aggregate is called, which columns it takes, and what it makes of nulls, of the order of rows and
of no rows at all. Engines attach to it what they compute: a kernel over timelines
(`timeloom.engines.timelines.measures`) and, for each way to put values together, what tasks report and how that
becomes a result.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

Takes = Literal["any", "sortable", "summable", "numeric", "boolean"]
"""Which columns: any, those that sort, those that add up, numbers, or truth values."""

Order = Literal["ignored", "shown", "decisive"]
"""What the order of rows means: nothing, the order within the result, or which row the result comes from."""


class PartKind(Enum):
    """What is known of some of the rows, and can be put together with what is known of others."""

    PRESENT = auto()
    """How many values there are."""

    TOTAL = auto()
    """The exact sum."""

    LEAST = auto()
    """The least value."""

    GREATEST = auto()
    """The greatest value; not-a-number is the greatest of all."""

    MOMENTS = auto()
    """The exact sums of the values as doubles, and of their squares."""


@dataclass(frozen=True)
class Combination:
    """A way to put a result together from parts of disjoint sets of rows."""

    name: str
    parts: tuple[PartKind, ...]

    @property
    def reversible(self) -> bool:
        """Whether a row can be taken out again: counts and sums know how, extremes do not."""
        return set(self.parts) <= {PartKind.PRESENT, PartKind.TOTAL}


COUNT = Combination("count", (PartKind.PRESENT,))
TOTAL = Combination("total", (PartKind.TOTAL, PartKind.PRESENT))
MEAN = Combination("mean", (PartKind.TOTAL, PartKind.PRESENT))
LEAST = Combination("least", (PartKind.LEAST,))
GREATEST = Combination("greatest", (PartKind.GREATEST,))
VARIANCE = Combination("variance", (PartKind.MOMENTS, PartKind.PRESENT))
DEVIATION = Combination("deviation", (PartKind.MOMENTS, PartKind.PRESENT))


@dataclass(frozen=True)
class Aggregate:
    """One aggregate.

    Parameters
    ----------
    name, spellings
        What it is called in messages and plans, and how users may call it besides.
    takes
        Which columns it is defined for.
    of_rows
        Whether it goes without a column and then speaks of rows.
    keeps_nulls
        Whether nulls take part; otherwise they are left out, as in SQL.
    order
        What the order of rows means to it.
    over_nothing
        Its value over no values.
    combination
        How it is put together from parts; None if it needs all rows at once.
    of_partners
        Whether it can be had of the partners of a row without lists of them, though it needs all at once.
    sql
        How queries write it, ``{}`` being the column.
    """

    name: str
    spellings: tuple[str, ...] = ()
    takes: Takes = "any"
    of_rows: bool = False
    keeps_nulls: bool = False
    order: Order = "ignored"
    over_nothing: int | None = None
    combination: Combination | None = None
    of_partners: bool = False
    sql: tuple[str, ...] = ()

    @property
    def without_pairs(self) -> bool:
        """Whether it can be had of the partners of a row without listing them."""
        return self.combination is not None or self.of_partners

    @property
    def reversible(self) -> bool:
        """Whether it can follow rows that enter and leave."""
        return self.combination is not None and self.combination.reversible


_RECORDS = (
    Aggregate("count", of_rows=True, over_nothing=0, combination=COUNT, sql=("count({})",)),
    Aggregate("sum", ("total",), "summable", combination=TOTAL, sql=("sum({})",)),
    Aggregate("avg", ("mean", "average"), "summable", combination=MEAN, sql=("avg({})", "mean({})")),
    Aggregate("min", ("minimum",), "sortable", combination=LEAST, sql=("min({})",)),
    Aggregate("max", ("maximum",), "sortable", combination=GREATEST, sql=("max({})",)),
    Aggregate("any", ("some", "bool_or"), "boolean", combination=GREATEST, sql=("bool_or({})",)),
    Aggregate("every", ("all", "bool_and"), "boolean", combination=LEAST, sql=("bool_and({})",)),
    Aggregate(
        "var",
        ("variance", "var_samp"),
        "numeric",
        combination=VARIANCE,
        sql=("variance({})", "var_samp({})"),
    ),
    Aggregate(
        "stddev",
        ("std", "stddev_samp"),
        "numeric",
        combination=DEVIATION,
        sql=("stddev({})", "stddev_samp({})"),
    ),
    Aggregate("first", keeps_nulls=True, order="decisive", of_partners=True, sql=("first({})",)),
    Aggregate("last", keeps_nulls=True, order="decisive", of_partners=True, sql=("last({})",)),
    Aggregate(
        "count_distinct",
        ("nunique",),
        over_nothing=0,
        of_partners=True,
        sql=("count(distinct {})",),
    ),
    Aggregate(
        "collect",
        ("list", "collect_list"),
        keeps_nulls=True,
        order="shown",
        sql=("array_agg({})",),
    ),
)

AGGREGATES = {record.name: record for record in _RECORDS}
"""All aggregates by name."""

BY_SPELLING = {spelling: record for record in _RECORDS for spelling in (record.name, *record.spellings)}
