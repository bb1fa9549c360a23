"""From a file to a pipeline, checked whole: every fault is found before anything runs."""

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from timeloom.errors import did_you_mean
from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.document import Path as At
from timeloom.pipeline.definition.models import Cluster, Pipeline, Quarantine, Sink, Source, Step
from timeloom.pipeline.definition.parts import P, read_part
from timeloom.pipeline.definition.places import check_places
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.definition.statements import KEY
from timeloom.pipeline.definition.steps import check_step
from timeloom.pipeline.definition.stores import Store, is_store, store_format

_TOP = ("name", "engine", "sources", "steps", "sinks", "quarantine", "report", "spark", KEY)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def load(file: str, secrets: Secrets, engine: str | None = None) -> Pipeline:
    """Read and check a pipeline file; PipelineError has all its faults."""
    return check_pipeline(Document.read(file, secrets), engine)


def check_pipeline(document: Document, engine: str | None = None) -> Pipeline:
    """Check a pipeline whole; PipelineError has all its faults."""
    data, file = document.data, document.file
    if not isinstance(data, dict):
        document.blame((), "a pipeline file is a mapping with sources, steps and sinks")
        document.finish()
    check_keys(document, (), data, _TOP)
    chosen = engine or data.get("engine", "spark")
    if chosen not in ("spark", "local"):
        document.blame(("engine",), f"{chosen!r} is unknown. {did_you_mean(str(chosen), ('spark', 'local'))}")
    if not isinstance(data.get(KEY, False), bool):
        document.blame((KEY,), f"expected true or false, found {data[KEY]!r}")
    if not isinstance(data.get("report", ""), str):
        document.blame(("report",), f"expected the path of a directory, found {data['report']!r}")
    sources = {
        name: read_part(document, ("sources", name), Source, part) for name, part in _section(document, "sources")
    }
    tables = [*sources, *_names(data.get("steps"))]
    steps = {
        name: check_step(document, name, part, tables) for name, part in _section(document, "steps", optional=True)
    }
    found = {name: _sink(document, name, part, tables) for name, part in _section(document, "sinks")}
    stores = {name: sink for name, sink in found.items() if isinstance(sink, Store)}
    sinks = {name: sink for name, sink in found.items() if not isinstance(sink, Store)}
    for name in stores if chosen == "local" else ():
        document.blame(
            ("sinks", name), "tables, databases and stores are written by Spark; take engine: spark", key=True
        )
    for name in steps:
        if name in sources:
            document.blame(("steps", name), "a source has this name, too; rename one of them", key=True)
    _check_cycles(document, steps)
    base = Path(file).absolute().parent
    check_places(document, str(chosen), base, sources, sinks)
    rest = {
        "name": str(data.get("name", Path(file).stem)),
        "base": base,
        "engine": chosen,
        "report": data.get("report"),
        "quarantine": _optional(document, "quarantine", Quarantine),
        "spark": _optional(document, "spark", Cluster) or Cluster(),
    }
    document.finish()
    return Pipeline.model_validate({**rest, "sources": sources, "steps": steps, "sinks": sinks, "stores": stores})


def check_keys(document: Document, at: At, data: dict[str, Any], known: tuple[str, ...]) -> None:
    """Blame every key that is not known."""
    for name in data:
        if name not in known:
            document.blame((*at, name), f"unknown key. {did_you_mean(name, known)}", key=True)


def _names(section: Any) -> list[str]:
    return list(section) if isinstance(section, dict) else []


def _section(document: Document, section: str, *, optional: bool = False) -> list[tuple[str, Any]]:
    """The named parts of one section."""
    found = document.data.get(section)
    if not found and optional:
        return []
    if not isinstance(found, dict) or not found:
        missing = "is missing" if section not in document.data else "has no parts"
        document.blame((section,), f"{section} {missing}; give at least one, by name")
        return []
    for name in found:
        if not _NAME.fullmatch(name):
            document.blame((section, name), "a name has letters, digits and _, and begins with no digit", key=True)
    return list(found.items())


def _optional(document: Document, name: str, model: type[P]) -> P | None:
    return read_part(document, (name,), model, document.data[name]) if document.data.get(name) is not None else None


def _sink(document: Document, name: str, data: Any, tables: list[str]) -> "Sink | Store | None":
    at: At = ("sinks", name)
    if isinstance(data, dict):
        data = {"from": name, **data}
        if data["from"] not in tables:
            where = (*at, "from") if document.data["sinks"][name].get("from") else at
            document.blame(where, f"there is no table {data['from']!r}. {did_you_mean(str(data['from']), tables)}")
        if is_store(data):
            return read_part(document, at, Store, store_format(data))
    return read_part(document, at, Sink, data)


def _check_cycles(document: Document, steps: dict[str, Step | None]) -> None:
    graph = {name: [need for need in step.needs if need in steps] for name, step in steps.items() if step}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        document.blame(("steps", circle[0]), f"steps wait for each other: {' needs '.join(circle)}", key=True)
