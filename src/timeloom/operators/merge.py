"""`merge`: a history with two periods after a feed of changes."""

from collections.abc import Sequence
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.explanation import Explanation
from timeloom.model.merge import Late, MergeRequest
from timeloom.model.naming import column_names
from timeloom.model.options import bind, checked
from timeloom.model.period import Period, PeriodLike


@checked
def merge(
    history: Any,
    feed: Any,
    key: "str | Sequence[str]",
    *,
    op: str = "op",
    sys: str = "sys",
    order: "str | Sequence[str] | None" = None,
    late: Late = "error",
    sys_period: PeriodLike = ("sys_start", "sys_end"),
    app_period: PeriodLike = ("app_start", "app_end"),
    without_overlaps: bool = False,
) -> Any:
    """Merge a feed of changes into a bitemporal history: corrections end versions and begin others, nothing is lost.

    Parameters
    ----------
    history
        All versions so far, with two periods: a Spark DataFrame, or a local table of any kind that exports Arrow.
    feed
        Changes, of the same family: the key, an operation, a system time, the application period, and the columns
        that change. An ``insert`` adds a fact. An ``update`` sets the columns that the feed has and a ``delete``
        deletes, for the portion of application time that the row names, null being all the way. An ``upsert`` lets the
        fact hold in its period, whatever was there. Debezium's letters c, r, u, d are understood.
    key
        The columns that say what a fact is about.
    op, sys
        The columns of the feed with the operation and the system time.
    order
        Columns of the feed that order changes of one system time. Local tables are in order without; on Spark it is
        needed where a key has several changes at one time.
    late
        What to do with changes from before the latest system time of the history: ``"error"``, or ``"now"``, which
        records them at that time.
    sys_period, app_period
        The periods of the history; the feed has the columns of ``app_period``, too.
    without_overlaps
        Refuse versions of one key that overlap in both times.

    Returns
    -------
    The history after the changes, with the columns of the history. On Spark nothing runs before an action.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> still = pa.array([None], pa.int64())
    >>> history = pa.table({"name": ["John"], "balance": [50], "app_start": [10], "app_end": still,
    ...                     "sys_start": [100], "sys_end": still})
    >>> feed = pa.table({"op": ["update"], "sys": [102], "name": ["John"], "balance": [40], "app_start": [11],
    ...                  "app_end": still})
    >>> [tuple(row.values()) for row in tl.merge(history, feed, "name").to_pylist()]  # doctest: +NORMALIZE_WHITESPACE
    [('John', 50, 10, None, 100, 102), ('John', 50, 10, 11, 102, None), ('John', 40, 11, None, 102, None)]
    """
    from timeloom.bitemporal.merging import Merging
    from timeloom.engines.tables.frames import to_arrow

    request = _request(key, op, sys, order, late, sys_period, app_period, without_overlaps)
    if _on_spark(history, feed):
        from timeloom.bitemporal.merged_frames import merge_frames
        from timeloom.engines.spark.cluster.interpreter import use_own_python

        use_own_python(history.sparkSession, (history, feed))
        return merge_frames(history, feed, request)
    (versions, restore), (changes, _) = to_arrow(history, "history"), to_arrow(feed, "feed")
    return restore(Merging(request)(versions, changes))


def _request(
    key: "str | Sequence[str]",
    op: str,
    sys: str,
    order: "str | Sequence[str] | None",
    late: Late,
    sys_period: PeriodLike,
    app_period: PeriodLike,
    without_overlaps: bool,
) -> MergeRequest:
    return MergeRequest(
        column_names("key", key),
        op,
        sys,
        () if order is None else column_names("order", order),
        late,
        Period.of(sys_period),
        Period.of(app_period),
        without_overlaps,
    )


def _on_spark(history: object, feed: object) -> bool:
    """Whether both are DataFrames; one alone is refused."""
    from timeloom.bitemporal.table import BitemporalTable
    from timeloom.engines.tables.marks import is_spark

    if isinstance(history, BitemporalTable):
        raise UsageError("a BitemporalTable changes itself; call its method, table.merge(feed)")
    if is_spark(history) != is_spark(feed):
        raise UsageError("one input is a Spark DataFrame and the other is not; give two of one family")
    return is_spark(history)


def _explained(*args: Any, **kwargs: Any) -> Explanation:
    """Say how a merge would run. Nothing runs."""
    given = bind(merge, *args, **kwargs)
    given.apply_defaults()
    history, feed = given.arguments.pop("history"), given.arguments.pop("feed")
    request, spark = _request(**given.arguments), _on_spark(history, feed)
    facts: dict[str, Any] = {
        "algorithm": "replay",
        "key": list(request.key),
        "changes by": [request.sys, *request.order],
    }
    why = ["changes of a key are applied one after the other: each ends versions that hold and begins others"]
    if not spark:
        from timeloom.bitemporal.merging import require_sides
        from timeloom.engines.tables.frames import to_arrow

        versions, changes = to_arrow(history, "history")[0], to_arrow(feed, "feed")[0]
        require_sides(versions.column_names, changes.column_names, request)
        return Explanation("merge", "local", facts, tuple(why))
    from timeloom.bitemporal.merged_frames import GROUPS, known_columns

    known_columns(history, feed, request)
    why += [
        "all versions and changes of a key meet in one task, by a hash of the key; both sides are shuffled once",
        "the latest system time of the whole history, before which changes are late, goes to all tasks",
    ]
    return Explanation("merge", "spark", {**facts, "strategy": "keys", "groups": GROUPS}, tuple(why))


merge.explained = _explained  # type: ignore[attr-defined]
