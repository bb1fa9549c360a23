"""A short attack on stored files of every kind."""

from fuzz.index_files import KINDS, mutate


def test_damaged_files_are_refused_and_forged_ones_do_no_harm():
    outcome = mutate(seed=20, rounds=300)
    for kind in KINDS:
        assert outcome[f"{kind.name} damaged refused"] > 10
        assert outcome[f"{kind.name} forged refused"] > 5
