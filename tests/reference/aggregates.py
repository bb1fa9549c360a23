"""Every aggregate as a plain function of the values of some rows in their order; None is a null."""

import math
import statistics
from fractions import Fraction


def known(values):
    return [value for value in values if value is not None]


def nearest(value):
    return value if value is None else float(value)


def variance(values):
    return statistics.variance([Fraction(value) for value in known(values)]) if len(known(values)) > 1 else None


def total(values):
    exact = sum(map(Fraction, known(values)))
    return float(exact) if any(isinstance(value, float) for value in known(values)) else int(exact)


def mean(values):
    return sum(map(Fraction, known(values))) / len(known(values)) if known(values) else None


def root(value):
    return None if value is None else math.sqrt(value)


PLAIN = {
    "count": lambda values: len(known(values)),
    "sum": lambda values: total(values) if known(values) else None,
    "avg": lambda values: nearest(mean(values)),
    "min": lambda values: min(known(values), default=None),
    "max": lambda values: max(known(values), default=None),
    "any": lambda values: any(known(values)) if known(values) else None,
    "every": lambda values: all(known(values)) if known(values) else None,
    "var": lambda values: nearest(variance(values)),
    "stddev": lambda values: root(variance(values)),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "count_distinct": lambda values: len(set(known(values))),
    "collect": lambda values: list(values) or None,
}
