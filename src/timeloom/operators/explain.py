"""`explain`: the plan that a call would run."""

import sys
from collections.abc import Callable
from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.explanation import Explanation
from timeloom.model.options import checked
from timeloom.operators.call import PlannedCall
from timeloom.operators.registry import verbs


@checked
def explain(verb: "str | Callable[..., Any]", *args: Any, sample: bool = False, **kwargs: Any) -> Explanation:
    """Say what a call of a verb would do, and why, without making its result.

    Parameters
    ----------
    verb
        The verb itself (``tl.join``) or its name; ``tl.sql``, whose plan says which verb answers what.
    *args, **kwargs
        The arguments of the call.
    sample
        On Spark, look at a sample of the input as well, the one from which the plan itself would choose where to cut
        time: how many rows there are, copies of each, bytes that are shuffled, and what the largest task has. This runs
        a job over the period and key columns; without it, nothing runs.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"start": [1, 5], "end": [4, 9]})
    >>> tl.explain(tl.join, shifts, shifts)["algorithm"]
    'forward_scan'
    """
    explained = getattr(_public(verb) if isinstance(verb, str) else verb, "explained", None)
    if explained is not None:
        answer: Explanation = explained(*args, **kwargs)
        return answer.sampled() if sample else answer
    known = verbs()
    name = verb if isinstance(verb, str) else getattr(verb, "__name__", repr(verb))
    found = known.get(name)
    if found is None and callable(_public(name)):
        raise UsageError(f"{name} runs in one way only; there is nothing to explain")
    if found is None:
        raise UsageError(f"{name!r} is no verb. {did_you_mean(name, known)}")
    call = found.call(*args, **kwargs) if found.explains else None
    if not isinstance(call, PlannedCall):
        raise UsageError(f"{name} runs in one way only; there is nothing to explain")
    plan = call.explain()
    return plan.sampled() if sample else plan


def _public(name: str) -> Any:
    """What users call by this name: some of it, as ``sql``, stands above the verbs and is found through the package."""
    return getattr(sys.modules["timeloom"], name, None)
