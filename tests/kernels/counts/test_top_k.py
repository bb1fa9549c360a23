"""Selection of the k highest, with ties, against a full sort."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import counting as brute
from timeloom.kernels.counts.top_k import top_rows, top_rows_by_group
from tree import worked_examples

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=25)


@settings(max_examples=150, deadline=None)
@given(rows, st.integers(0, 8), st.booleans())
def test_top_rows_equal_a_full_sort(rows, k, all_ties):
    counts = [count for count, _ in rows]
    found = top_rows(np.array(counts, np.int64), k, all_ties=all_ties)
    assert found.tolist() == brute.top_k(counts, [0] * len(rows), k, "all" if all_ties else "first")


@settings(max_examples=150, deadline=None)
@given(rows, st.integers(0, 4), st.booleans())
def test_top_rows_of_groups_equal_a_full_sort(rows, k, all_ties):
    counts, groups = [count for count, _ in rows], [group for _, group in rows]
    found = top_rows_by_group(np.array(counts, np.int64), np.array(groups, np.int64), k, all_ties=all_ties)
    assert found.tolist() == brute.top_k(counts, groups, k, "all" if all_ties else "first")


def test_the_busiest_row_of_the_paper():
    examples = worked_examples("counting")
    counts, best = examples["ICSJ-fig1-counts"]["expected"], examples["ICSJ-topk"]
    rows = top_rows(np.array(list(counts.values()), np.int64), best["input"]["k"], all_ties=False)
    assert [[list(counts)[row], list(counts.values())[row]] for row in rows] == best["expected"]
