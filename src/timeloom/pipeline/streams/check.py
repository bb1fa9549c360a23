"""From a file to a pipeline or a stream, checked whole."""

from pathlib import Path
from typing import Any

from timeloom.errors import UsageError
from timeloom.pipeline.definition.check import check_keys, check_pipeline
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.models import Cluster, Pipeline
from timeloom.pipeline.definition.parts import read_part
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.streams.calls import STREAM_VERBS
from timeloom.pipeline.streams.checking_calls import check_call
from timeloom.pipeline.streams.durations import read_trigger
from timeloom.pipeline.streams.models import TIME_TYPES, Stream, StreamSink, StreamSource

_TOP = ("name", "stream", "report", "spark")
_REST = ("sink", "checkpoint", "trigger")
_STREAMS = "streams"
"""The key under which a pattern has its sources by name."""


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
    verb = _verb(document, parts)
    places = _sources(document, parts, verb)
    sources = {name: read_part(document, ("stream", *at), StreamSource, _at(parts, at)) for name, at in places.items()}
    call = read_part(document, ("stream", verb), STREAM_VERBS[verb].options, parts.get(verb, {}))
    sink = read_part(document, ("stream", "sink"), StreamSink, parts.get("sink"))
    if call is not None:
        check_call(document, verb, call, sources)
        _check_times(document, places, sources)
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
    return Stream.model_validate({**rest, "sources": sources, "verb": verb, "call": call, "sink": sink})


def _verb(document: Document, parts: dict[str, Any]) -> str:
    """The one verb that the file calls: a join if it says nothing."""
    called = [verb for verb in STREAM_VERBS if verb in parts]
    if len(called) > 1:
        document.blame(("stream", called[1]), f"the stream calls {' and '.join(called)}; make two streams of it")
        document.finish()
    return called[0] if called else "join"


def _sources(document: Document, parts: dict[str, Any], verb: str) -> dict[str, tuple[str, ...]]:
    """The sources of a verb, and where they stand; all that is missing or too much is told."""
    named = STREAM_VERBS[verb].sources
    check_keys(document, ("stream",), parts, (verb, *(named or (_STREAMS,)), *_REST))
    for name in (*(named or (_STREAMS,)), "sink"):
        if name not in parts:
            document.blame(("stream",), f"{name} is missing", key=True)
    document.finish()
    if named:
        return {name: (name,) for name in named}
    if not isinstance(parts[_STREAMS], dict):
        document.blame(("stream", _STREAMS), "expected a mapping of sources by the names that they have in the pattern")
        document.finish()
    return {str(name): (_STREAMS, name) for name in parts[_STREAMS]}


def _at(parts: dict[str, Any], at: tuple[str, ...]) -> Any:
    found: Any = parts
    for key in at:
        found = found[key]
    return found


def _trigger(document: Document, value: Any) -> Any:
    try:
        return read_trigger(value)
    except ValueError as error:
        document.blame(("stream", "trigger"), f"{error}; or available-now")
        return None


def _check_times(
    document: Document, places: dict[str, tuple[str, ...]], sources: dict[str, StreamSource | None]
) -> None:
    for side, source in sources.items():
        if source is None or source.select is not None:
            continue
        for name in source.needed[1:]:
            kind = (source.columns or {}).get(name)
            if name != "event" and kind is not None and kind not in TIME_TYPES:
                message = (
                    f"{name} is {kind}; expected timestamp or timestamp_ntz, because watermarks are defined on these"
                )
                document.blame(("stream", *places[side], "schema", name), message)


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
