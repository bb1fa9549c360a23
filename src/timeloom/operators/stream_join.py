"""`stream_join`: pairs of rows of two streams, each as soon as it is certain."""

from collections.abc import Sequence
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.options import checked
from timeloom.model.ticks import Span


@checked
def stream_join(
    left: Any,
    right: Any,
    relation: RelationLike = "intersects",
    *,
    on: "str | Sequence[str] | None" = None,
    how: str = "inner",
    delta: "Span | str | None" = None,
    epsilon: "Span | str | None" = None,
    watermark: str | None = "0 seconds",
    left_arrives: str = "events",
    right_arrives: str = "events",
    columns: dict[str, str] | None = None,
) -> Any:
    """Join two streaming DataFrames of periods; each pair leaves once the watermark reaches its deciding instant.

    Parameters
    ----------
    left, right
        Streams of endpoint events (columns ``id``, ``time``, and ``event``, which is start or end), or of whole rows
        (``id``, ``start``, ``end``).
    relation, delta, epsilon
        As in `join`.
    on
        Equality keys. Each key has a state of its own; without keys there is one state, and one task.
    how
        ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``.
    watermark
        How late events may be, for both streams; None if they have watermarks already.
    left_arrives, right_arrives
        ``"events"``, or whole rows that are known at their ``"start"`` or at their ``"end"``.
    columns
        Other names for the columns above, such as ``{"id": "flight"}``.

    Returns
    -------
    A streaming DataFrame for append mode: the keys, ``left_id``, ``right_id``, the deciding instant ``at``, and
    ``reason``, which is null for results. Events that were refused (late, an end without a start, …) appear with
    their id, time and reason, so that none is lost unseen.
    """
    from timeloom.engines.spark.cluster.interpreter import use_own_python
    from timeloom.engines.tables.marks import is_spark
    from timeloom.streaming.operator import checked_how
    from timeloom.streaming.processor import Plan
    from timeloom.streaming.readers import Columns, key_columns
    from timeloom.streaming.structured import stream_join as run

    for side, frame in (("left", left), ("right", right)):
        if not is_spark(frame):
            raise UsageError(f"the {side} input is a {type(frame).__name__}; stream_join takes streaming DataFrames")
    kind = checked_how(how, left_arrives, right_arrives)
    use_own_python(left.sparkSession)
    wanted, arrivals = find_relation(relation, delta=delta, epsilon=epsilon), (left_arrives, right_arrives)
    return run(left, right, Plan(wanted, kind, arrivals, key_columns(on)), watermark, Columns.of(columns))
