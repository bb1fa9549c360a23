"""From a file to a pipeline or a stream, checked whole."""

from pathlib import Path
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.conditions import Condition
from timeloom.model.names import relation
from timeloom.pipeline.definition.check import check_keys, check_pipeline
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.models import Cluster, Pipeline
from timeloom.pipeline.definition.parts import read_part
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.streams.models import TIME_TYPES, Stream, StreamJoin, StreamSink, StreamSource, read_trigger
from timeloom.streaming.wanted import Wanted, payload_names, read_columns

_TOP = ("name", "stream", "report", "spark")
_STREAM = ("left", "right", "join", "sink", "checkpoint", "trigger")
_SIDES = ("left", "right")


def load_file(file: str, secrets: Secrets, engine: str | None = None) -> Pipeline | Stream:
    """Read and check a file: a stream if it says ``stream``, else a pipeline."""
    document = Document.read(file, secrets)
    if isinstance(document.data, dict) and "stream" in document.data:
        if engine == "local":
            raise UsageError(f"{file!r} is a stream, and streams run on Spark; leave the engine out")
        return check_stream(document)
    return check_pipeline(document, engine)


def check_stream(document: Document) -> Stream:
    """Check a stream whole; PipelineError has all its faults."""
    data, file = document.data, document.file
    check_keys(document, (), data, _TOP)
    parts = data["stream"]
    if not isinstance(parts, dict):
        document.blame(("stream",), "expected a mapping with left, right, join, sink and checkpoint")
        document.finish()
    check_keys(document, ("stream",), parts, _STREAM)
    for name in ("left", "right", "sink"):
        if name not in parts:
            document.blame(("stream",), f"{name} is missing", key=True)
    document.finish()
    sources = {side: read_part(document, ("stream", side), StreamSource, parts.get(side)) for side in _SIDES}
    join = read_part(document, ("stream", "join"), StreamJoin, parts.get("join", {}))
    sink = read_part(document, ("stream", "sink"), StreamSink, parts.get("sink"))
    if join is not None:
        _check_join(document, join, sources)
    base = Path(file).absolute().parent
    _check_places(document, base, sources, sink)
    rest = {
        "name": str(data.get("name", Path(file).stem)),
        "base": base,
        "checkpoint": parts.get("checkpoint"),
        "trigger": _trigger(document, parts.get("trigger")),
        "report": data.get("report"),
        "spark": read_part(document, ("spark",), Cluster, data.get("spark") or {}),
    }
    document.finish()
    return Stream.model_validate({**rest, **sources, "join": join, "sink": sink})


def _trigger(document: Document, value: Any) -> Any:
    try:
        return read_trigger(value)
    except ValueError as error:
        document.blame(("stream", "trigger"), f"{error}; or available-now")
        return None


def _check_join(document: Document, join: StreamJoin, sources: dict[str, StreamSource | None]) -> None:
    try:
        relation(join.relation, delta=join.delta, epsilon=join.epsilon)
    except UsageError as error:
        document.blame(("stream", "join", "relation"), str(error))
    _check_columns(document, join, sources)
    for side, source in sources.items():
        if source is None:
            continue
        for name in join.on:
            if name not in source.given:
                document.blame(("stream", "join", "on"), f"the {side} side has no column {name!r}")
        if source.select is None:
            _check_times(document, side, source)


def _check_columns(document: Document, join: StreamJoin, sources: dict[str, StreamSource | None]) -> None:
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


def _check_times(document: Document, side: str, source: StreamSource) -> None:
    for name in source.needed[1:]:
        kind = (source.columns or {})[name]
        if name != "event" and kind not in TIME_TYPES:
            message = f"{name} is {kind}; expected timestamp or timestamp_ntz, because watermarks are defined on these"
            document.blame(("stream", side, "schema", name), message)


def _check_places(
    document: Document, base: Path, sources: dict[str, StreamSource | None], sink: StreamSink | None
) -> None:
    """Files need a checkpoint, and no output may lie on an input or on the checkpoint."""
    checkpoint = document.data["stream"].get("checkpoint")
    if sink is None:
        return
    if checkpoint is None:
        if sink.lasts:
            message = "checkpoint is missing; a stream into files needs a directory to take up its work from"
            document.blame(("stream",), message, key=True)
    elif not isinstance(checkpoint, str):
        document.blame(("stream", "checkpoint"), f"expected a path, found {checkpoint!r}")
        return
    taken = {
        (base / source.path).resolve(): f"the {side} source"
        for side, source in sources.items()
        if source and source.path and "://" not in source.path
    }
    for at, path in ((("sink", "path"), sink.path), (("checkpoint",), checkpoint)):
        if path is None or "://" in path:
            continue
        place = (base / path).resolve()
        for other, owner in taken.items():
            if place == other or other in place.parents or place in other.parents:
                document.blame(("stream", *at), f"this path and that of {owner} overlap; choose another")
        taken[place] = "the sink"
