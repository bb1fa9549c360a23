"""`explain`: the plan that a call would run."""

from collections.abc import Callable
from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.model.explanation import Explanation
from timeloom.model.options import checked
from timeloom.operators.call import PlannedCall
from timeloom.operators.pattern import pattern
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
    explained = getattr(pattern if verb == "pattern" else verb, "explained", None)
    if explained is not None:
        answer: Explanation = explained(*args, **kwargs)
        return answer.sampled() if sample else answer
    known = verbs()
    name = verb if isinstance(verb, str) else getattr(verb, "__name__", repr(verb))
    found = known.get(name)
    if found is None:
        raise UsageError(f"{name!r} is no verb. {did_you_mean(name, known)}")
    call = found.call(*args, **kwargs) if found.explains else None
    if not isinstance(call, PlannedCall):
        raise UsageError(f"{name} runs in one way only; there is nothing to explain")
    plan = call.explain()
    return plan.sampled() if sample else plan
