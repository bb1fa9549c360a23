"""Random calls of every verb on local tables, each against brute force; what fails is shrunk to a few rows."""

import random
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fuzz import expected
from fuzz.tables import KINDS
from fuzz.verb_calls import TWO_TABLES, VERBS, Call, Fit, RefusedError, draw, fit, one_table, table_call
from timeloom.errors import DroppedRowsWarning, InvalidInputError, TimeloomError


def check(call: Call) -> str:
    """Make a call and hold its answer against brute force: "right", or "refused" where it must or may be."""
    sides = [call.left, call.right] if call.verb in TWO_TABLES else [call.left]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedRowsWarning)
        try:
            fits = [fit(side, call.policy) for side in sides]
            none = Fit([], [], [], [], 0)
            found, wanted = VERBS[call.verb][1](call, fits[0], fits[1] if len(fits) == 2 else none)
        except RefusedError:
            _must_be_refused(call)
            return "refused"
        except InvalidInputError:
            if any(side.is_at_the_edge for side in sides) or _sums_overflow(call):
                return "refused"
            raise
    ordered = call.verb in ("count_join", "top_k", "stab") or (call.verb == "join" and call["how"] in ("semi", "anti"))
    if not ordered:
        found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
    same = len(found) == len(wanted) and all(map(_equal, found, wanted))
    assert same, f"found {found}\n         wanted {wanted}"
    return "right"


def _must_be_refused(call: Call) -> None:
    none = Fit([], [], [], [], 0)
    try:
        VERBS[call.verb][1](call, none, none)
    except TimeloomError:
        return
    except RefusedError:
        side = call.left
        within = tuple(None if step is None else side._column([step])[0].as_py() for step in call["within"])
        try:
            table_call(call, "gaps", **one_table(call), within=within)
        except TimeloomError:
            return
    raise AssertionError("invalid rows were accepted, though they must be refused")


def _sums_overflow(call: Call) -> bool:
    """Whether the values are so large that sums of them may not fit their type, which is refused by name."""
    side = call.right if call.verb in TWO_TABLES else call.left
    return side.value_kind == "long" and dict(call.options).get("function") in ("sum", "avg")


def _equal(found: tuple, wanted: tuple) -> bool:
    return len(found) == len(wanted) and all(map(_same, found, wanted))


def _same(found: object, wanted: object) -> bool:
    if isinstance(wanted, float) and found is not None and not isinstance(found, float):
        return expected.rounded(Fraction(found)) == wanted or abs(Fraction(found) - Fraction(wanted)) < Fraction(
            1, 10**5
        )
    return found == wanted


def shrink(call: Call) -> Call:
    """The smallest call found that still fails: rows are taken away as long as it does."""
    smaller = True
    while smaller:
        smaller = False
        for other in _smaller(call):
            if _fails(other):
                call, smaller = other, True
                break
    return call


def _smaller(call: Call) -> Iterator[Call]:
    for name in ("left", "right"):
        side = getattr(call, name)
        for at in range(len(side.rows)):
            yield replace(call, **{name: replace(side, rows=side.rows[:at] + side.rows[at + 1 :])})
        if side.closed != "left":
            yield replace(call, **{name: replace(side, closed="left")})
        if side.kind in KINDS and side.kind != "int64" and not side.is_at_the_edge:
            plain = {n: replace(getattr(call, n), kind="int64", base=0, step=1) for n in ("left", "right")}
            yield replace(call, **plain)
    if call.policy != ("error", None):
        yield replace(call, policy=("error", None))


def _fails(call: Call) -> bool:
    try:
        check(call)
    except Exception:
        return True
    return False


def run(seed: int, seconds: float, verb: str | None = None) -> Counter[str]:
    """Make random calls for some seconds; raise with a small example on the first that fails."""
    rng, stop, told = random.Random(seed), time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < stop:
        call = draw(rng, verb)
        try:
            told[f"{call.verb} {check(call)}"] += 1
        except Exception as error:
            small = shrink(call)
            raise AssertionError(f"seed {seed}: {error!r}\nshrunk to {small!r}\n{_said(small)}") from error
    return told


def _said(call: Call) -> str:
    try:
        check(call)
    except Exception as error:
        return f"which fails with {type(error).__name__}: {error}"
    return "which passes when it is made again"
