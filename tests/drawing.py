"""What property tests draw from: a tiny domain, so that ties are common."""

from hypothesis import strategies as st

TIMES = st.integers(0, 12)


@st.composite
def periods(draw, max_size=8):
    """A list of non-empty half-open periods."""
    return [
        (start, start + length)
        for start, length in draw(st.lists(st.tuples(TIMES, st.integers(1, 6)), max_size=max_size))
    ]


def keys_for(rows):
    """One key a row: two values or null."""
    return st.lists(st.sampled_from(["a", "b", None]), min_size=len(rows), max_size=len(rows))


LIMITS = st.one_of(st.none(), st.integers(0, 4))
BOUND = st.one_of(st.none(), st.integers(-5, 5))


def ranges():
    return st.tuples(BOUND, BOUND)
