"""Parts of aggregates: what one of several tasks knows of a left row, in a form that adds up without loss."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from timeloom.engines.counting import Numbers, Totals
from timeloom.engines.local.count_aggregates import aggregate, exact_terms
from timeloom.engines.local.gather import Source
from timeloom.model.measures import Measure

PRESENT, WHOLE, TERMS, EXTREME = range(4)
"""What a part holds: how many values, a sum of whole numbers, doubles that add up to the sum, or an extreme."""


@dataclass(frozen=True)
class Part:
    """One column of what tasks report."""

    name: str
    role: int
    measure: Measure


def part_values(part: Part, counting: Totals, counts: Numbers, right: pa.Table) -> pa.Array:
    """A task's part for each of its left rows."""
    if part.role in (WHOLE, EXTREME):
        return aggregate(counting, counts, right, part.measure)
    present = aggregate(counting, counts, right, replace(part.measure, function="count"))
    if part.role == PRESENT:
        return present
    some = np.asarray(present) > 0
    terms = np.stack(exact_terms(counting, Source(right).column(str(part.measure.column)), part.measure), axis=1)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(some * terms.shape[1])])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(terms[some].ravel()))


def add_terms(lists: pa.Array) -> pa.Array:
    """Add up each list of doubles and round once; null for no terms."""
    return pa.array([_added(terms) for terms in lists.to_pylist()], pa.float64())


def _added(terms: "list[float] | None") -> float | None:
    if not terms:
        return None
    return math.fsum(terms) if all(map(math.isfinite, terms)) else sum(terms)
