"""All experiments, in the order of the papers."""

import importlib

from benchmarks.reproduce.figures import FIGURES, PAPERS, Figure

MODULES = (
    "counting",
    "stab_forest",
    "stab_forest_costs",
    "sweeping_sets",
    "sweeping_lazy",
    "sweeping_rivals",
    "dip_joins",
    "dip_operators",
    "dip_data_sets",
    "thesis",
    "thesis_costs",
)


def figures() -> list[Figure]:
    """Every figure that is registered, paper by paper."""
    for module in MODULES:
        importlib.import_module(f"benchmarks.reproduce.{module}")
    order = list(PAPERS)
    return sorted(FIGURES, key=lambda one: order.index(one.paper))


def chosen(paper: str | None, number: str | None) -> list[Figure]:
    """Figures by paper and number; an error names what there is."""
    found = [one for one in figures() if paper in (None, one.paper) and number in (None, one.number)]
    if not found:
        known = ", ".join(one.number for one in figures() if paper in (None, one.paper))
        raise SystemExit(f"there is no figure {number!r} of {paper or 'any paper'}; there are: {known}")
    return found
