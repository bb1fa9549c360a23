"""No module needs itself, over however many others: imports within functions count, those for types alone do not."""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("timeloom", exclude_type_checking_imports=True, cache_dir=None)


def put_in_order(graph):
    """Put every module behind those that it imports; a cycle is an error that shows it."""
    needs = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    return list(TopologicalSorter(needs).static_order())


def test_no_module_imports_itself_by_way_of_others(graph):
    assert set(put_in_order(graph)) == graph.modules


def test_imports_within_functions_count(graph):
    assert "timeloom.engines.local.join" in graph.find_modules_directly_imported_by("timeloom.engines.local")


def test_a_cycle_would_be_found(graph):
    graph.add_import(importer="timeloom.pipeline.outcome", imported="timeloom.pipeline.execution")
    with pytest.raises(CycleError, match=r"timeloom\.pipeline\.outcome"):
        put_in_order(graph)
