"""When results over rows are final, by trying all futures: what is known at an instant must give the same in each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product

from reference.certainty import FAR, NEVER, Holds, ends_after, future_periods, known_from, reach

Span = tuple[int, int]


def count_final_from(
    holds: Holds, r: Span, others: Sequence[Span], arrivals: tuple[str, str], latest: int, ahead: int = 6
) -> int:
    """The first instant at which the partners of r are the same in every future; NEVER if only the end says."""
    for instant in range(r[0], latest + 1):
        if _same_partners(holds, r, others, arrivals, instant, ahead):
            return instant
    return NEVER


def _same_partners(
    holds: Holds, r: Span, others: Sequence[Span], arrivals: tuple[str, str], instant: int, ahead: int
) -> bool:
    far = reach(instant, ahead, r, *others)
    ends = ends_after(r, instant, far, arrivals[0])
    for s in others:
        if known_from(s, arrivals[1]) <= instant:
            answers = {
                holds((r[0], end), (s[0], other)) for end in ends for other in ends_after(s, instant, far, arrivals[1])
            }
            if len(answers) > 1:
                return False
    return not any(holds((r[0], end), s) for end in ends for s in future_periods(instant, end, ahead, arrivals[1]))


def is_final(
    rows: Sequence[Span], arrival: str, wanted: tuple, results: Callable[[list[Span]], Iterable[tuple]], instant: int
) -> bool:
    """Whether a result row is there in every future, as far as is known at an instant."""
    return all(wanted in results(future) for future in _futures(rows, arrival, instant))


def _futures(rows: Sequence[Span], arrival: str, instant: int) -> Iterator[list[Span]]:
    """Ways in which rows known at an instant may go on; with no other row, or one that starts later."""
    known = [row for row in rows if row[0] <= instant]
    ends = [ends_after(row, instant, 1, arrival) for row in known]
    for chosen in product(*ends):
        future = [(row[0], end) for row, end in zip(known, chosen, strict=True)]
        yield future
        for start in (*range(instant + 1, 16), 3 * FAR[0]):
            yield [*future, (start, start + 1)]


def lineages(rows: Sequence[Span]) -> list[tuple[int, int, int]]:
    """Maximal periods in which the same rows are active: start, end, how many."""
    cuts = sorted({time for row in rows for time in row})
    found = []
    for start, end in pairwise(cuts):
        count = sum(row[0] <= start and end <= row[1] for row in rows)
        if count:
            found.append((start, end, count))
    return found


def sessions(rows: Sequence[Span], gap: int) -> list[tuple[int, int]]:
    """Periods no further apart than this, merged."""
    found: list[list[int]] = []
    for start, end in sorted(rows):
        if found and start - gap <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return [(start, end) for start, end in found]
