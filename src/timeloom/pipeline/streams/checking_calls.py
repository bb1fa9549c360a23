"""Whether the verb of a stream can be called as its file says, told before anything runs."""

from typing import Any

from timeloom.errors import TimeloomError, UsageError
from timeloom.model.conditions import Condition
from timeloom.model.names import relation
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.types import is_nested, to_arrow
from timeloom.pipeline.streams.calls import StreamJoin
from timeloom.pipeline.streams.models import StreamSource
from timeloom.streaming.wanted import Wanted, payload_names, read_columns


def check_call(document: Document, verb: str, call: Any, sources: dict[str, StreamSource | None]) -> None:
    """Blame relations, keys and columns that cannot be."""
    if hasattr(call, "relation"):
        try:
            relation(call.relation, delta=call.delta, epsilon=call.epsilon)
        except UsageError as error:
            document.blame(("stream", verb, "relation"), str(error))
            return
    option = "on" if hasattr(call, "on") else "by"
    for side, source in sources.items():
        for name in getattr(call, option):
            if source is not None and name not in source.given:
                document.blame(("stream", verb, option), f"the {side} side has no column {name!r}")
                return
    if isinstance(call, StreamJoin):
        _check_join(document, call, sources)
    else:
        _try_out(document, verb, call, sources)


def _check_join(document: Document, join: StreamJoin, sources: dict[str, StreamSource | None]) -> None:
    """Columns that results cannot have, and conditions that cannot be computed, are told before anything runs."""
    try:
        condition = None if join.where is None else Condition(join.where)
        asked, roles = read_columns(join.columns, None)
        wanted = Wanted(join.how, tuple(join.on), asked, join.suffixes, join.overlap, condition)
        left, right = (
            None if source is None else payload_names(source.given, join.on, roles, source.arrives)
            for source in (sources["left"], sources["right"])
        )
        wanted.layout(left, right)
    except UsageError as error:
        document.blame(("stream", "join"), str(error))


def _try_out(document: Document, verb: str, call: Any, sources: dict[str, StreamSource | None]) -> None:
    """Call the verb on tables without rows, where the columns are known: it refuses what it would refuse later."""
    import pyarrow as pa

    tables = {}
    for name, source in sources.items():
        columns = None if source is None or source.select is not None else source.columns
        if columns is None or any(is_nested(kind) for kind in columns.values()):
            return
        tables[name] = pa.table({column: pa.array([], to_arrow(kind)) for column, kind in columns.items()})
    try:
        call.run(tables, {name: source.arrives for name, source in sources.items() if source is not None})
    except TimeloomError as error:
        document.blame(("stream", verb), str(error))
