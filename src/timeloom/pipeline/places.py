"""Checks between the parts of a pipeline: what the engine can do, and that no output falls on an input."""

from pathlib import Path

from timeloom.pipeline.document import Document
from timeloom.pipeline.models import Sink, Source
from timeloom.pipeline.types import is_nested

_LOCAL_CSV = ("delimiter", "nullValue")


def check_places(
    document: Document,
    engine: str,
    base: Path,
    sources: dict[str, Source | None],
    sinks: dict[str, Sink | None],
) -> None:
    """Check what only shows when all parts are seen together."""
    for name, source in sources.items():
        if source is not None:
            _check_source(document, engine, name, source)
    for name, sink in sinks.items():
        if sink is not None and engine == "spark" and sink.format == "arrow":
            document.blame(("sinks", name), "Spark writes no Arrow files; take parquet, or engine: local", key=True)
        if sink is not None and engine == "local" and sink.options:
            document.blame(("sinks", name, "options"), "sinks take options on Spark only", key=True)
    if document.data.get("quarantine") is None:
        for name, source in sources.items():
            if source and source.on_invalid == "quarantine":
                document.blame(
                    ("sources", name, "on_invalid"), "quarantine needs a place: give quarantine: {path: …} at the top"
                )
    _check_overlaps(document, base, sources, sinks)


def _check_source(document: Document, engine: str, name: str, source: Source) -> None:
    at = ("sources", name)
    if engine == "spark":
        if source.format == "arrow":
            document.blame(at, "Spark reads no Arrow files; take parquet, or engine: local", key=True)
        return
    if source.format in ("jdbc", "table"):
        document.blame((*at, "format"), f"a {source.format} source needs engine: spark")
    for column, kind in (source.columns or {}).items():
        if is_nested(kind):
            document.blame((*at, "schema", column), "with engine: local, types in a schema are simple ones")
    for option in source.options:
        if source.format != "csv" or option not in _LOCAL_CSV:
            message = "with engine: local, sources take the options delimiter and nullValue, for csv"
            document.blame((*at, "options", option), message, key=True)


def _check_overlaps(
    document: Document, base: Path, sources: dict[str, Source | None], sinks: dict[str, Sink | None]
) -> None:
    """No output may lie on or in another output, or on an input: a rerun would not find what the first run found."""
    taken: dict[Path, str] = {}
    for name, source in sources.items():
        if source and source.path and "://" not in source.path:
            taken[(base / source.path).resolve()] = f"source {name}"
    quarantine = document.data.get("quarantine")
    targets = {("sinks", name, "path"): sink.path for name, sink in sinks.items() if sink}
    if isinstance(quarantine, dict) and isinstance(quarantine.get("path"), str):
        targets["quarantine", "path", ""] = quarantine["path"]
    for at, path in targets.items():
        place = (base / path).resolve()
        for other, owner in taken.items():
            if place == other or other in place.parents or place in other.parents:
                document.blame(
                    tuple(part for part in at if part), f"this path and that of {owner} overlap; choose another"
                )
        taken[place] = " ".join(part for part in at[:2] if part).replace("sinks", "sink").removesuffix(" path")
