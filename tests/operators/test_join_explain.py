import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl


def spread(rows, length, seed):
    start = np.random.default_rng(seed).integers(0, rows, rows)
    return pa.table({"start": start, "end": start + length})


def test_intersects_needs_no_filter_and_counts_its_results_exactly():
    left, right = spread(500, 5, 1), spread(400, 7, 2)
    plan = tl.explain(tl.join, left, right)
    assert plan["algorithm"] == "forward_scan"
    assert plan["candidates"] == tl.join(left, right).num_rows
    assert "nothing is filtered" in str(plan)


def test_the_cheaper_driver_is_chosen_and_named():
    short, long = spread(2000, 2, 1), spread(2000, 400, 2)
    assert tl.explain(tl.join, short, long, "overlaps")["driver"] == ["left rows probe right starts"]
    assert tl.explain("join", long, short, "overlaps")["driver"] == ["right rows probe left ends"]


def test_where_runs_would_waste_the_range_tree_is_taken():
    """Nested periods: everything intersects, next to nothing overlaps."""
    rows = 3000
    nested = pa.table({"start": np.arange(rows), "end": 3 * rows - np.arange(rows)})
    plan = tl.explain(tl.join, nested, nested, "overlaps")
    assert plan["algorithm"] == "range_tree"
    assert "candidates for about 0 results" in str(plan)
    assert tl.join(nested, nested, "overlaps").num_rows == 0


def test_an_algorithm_that_was_asked_for_tells_what_it_would_look_at():
    left, right = spread(500, 5, 1), spread(400, 7, 2)
    for algorithm in ("sweep", "range_tree", "skip", "forward_scan"):
        plan = tl.explain(tl.join, left, right, "contains", algorithm=algorithm)
        assert plan["algorithm"] == algorithm
        assert plan["candidates"] >= tl.join(left, right, "contains").num_rows


def test_an_impossible_relation_says_so():
    table = spread(10, 3, 1)
    never = tl.Relation(start_start=(5, 4))
    assert "no pair can satisfy" in str(tl.explain(tl.join, table, table, never))
    assert tl.join(table, table, never).num_rows == 0


def test_unknown_verbs_are_refused():
    with pytest.raises(tl.UsageError, match="'joyn' is no verb. Did you mean 'join'"):
        tl.explain("joyn")


def test_candidates_of_an_equality_are_the_pairs_that_share_the_endpoint():
    rows = pa.table({"start": [1, 1, 2], "end": [3, 4, 5]})
    assert tl.explain(tl.join, rows, rows, "starts")["candidates"] == 5
    assert tl.explain(tl.join, rows, rows, "meets")["candidates"] == 0
