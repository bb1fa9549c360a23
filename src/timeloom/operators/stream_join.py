"""`stream_join`: pairs of rows of two streams, each as soon as it is certain."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from timeloom.errors import UsageError
from timeloom.model.conditions import Condition
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
    watermark: "str | Mapping[str, str | None] | None" = "0 seconds",
    left_arrives: str = "events",
    right_arrives: str = "events",
    columns: "str | Sequence[str] | dict[str, str] | None" = None,
    suffixes: tuple[str, str] = ("", "_right"),
    overlap: "bool | Literal['length']" = False,
    where: str | None = None,
    event_columns: dict[str, str] | None = None,
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
        How late events may be, for both streams, or ``{"left": …, "right": …}``; None if they have watermarks already.
        An instant is complete once both streams have passed it: one that runs ahead does not make the other one late.
    left_arrives, right_arrives
        ``"events"``, or whole rows that are known at their ``"start"`` or at their ``"end"``.
    columns, suffixes, overlap, where
        As in `join`; ``columns`` names those that results have beside the fixed ones below, by their names in the
        result. ``"*"`` asks for all of both streams that are no keys and do not tell of events. ``start`` and ``end``
        can be asked for, too. Values are those of a row's start; where these are null, those of its end, once that has
        come. State holds only the columns that are asked for.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.

    Returns
    -------
    A streaming DataFrame for append mode: the keys, ``left_id``, ``right_id``, the deciding instant ``at``, and
    ``reason``, which is null for results; then the columns asked for. Events that were refused (late, an end without a
    start, …) appear with their id, time and reason, so that none is lost unseen.
    """
    from timeloom.engines.tables.marks import is_spark

    for side, frame in (("left", left), ("right", right)):  # before PySpark is loaded, which local tables do without
        if not is_spark(frame):
            raise UsageError(
                f"the {side} input is a {type(frame).__name__}; stream_join takes streaming DataFrames, and "
                "timeloom.streaming.StreamJoin tables of events"
            )
    from timeloom.engines.spark.cluster.interpreter import use_own_python
    from timeloom.streaming.emitted import checked_how
    from timeloom.streaming.join_plan import Plan
    from timeloom.streaming.readers import key_columns
    from timeloom.streaming.structured import check_watermark
    from timeloom.streaming.structured import stream_join as run
    from timeloom.streaming.wanted import Wanted, read_columns

    kind = checked_how(how, left_arrives, right_arrives)
    asked, roles = read_columns(columns, event_columns)
    condition = None if where is None else Condition(where)
    wanted = Wanted(kind, key_columns(on), asked, suffixes, overlap, condition, roles, knows_keys=False)
    found = find_relation(relation, delta=delta, epsilon=epsilon)
    check_watermark(watermark)
    use_own_python(left.sparkSession)
    plan = Plan(found, kind, (left_arrives, right_arrives), wanted.keys, asked=wanted)
    return run(left, right, plan, watermark)
