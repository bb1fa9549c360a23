"""Random SQL texts, for a moment."""

from fuzz.sql_texts import run


def test_random_texts():
    assert run(seed=1, seconds=3) > 0
