"""Checks between the parts of a pipeline: what the engine can do, and that no output falls on an input."""

from pathlib import Path

from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.document import Path as At
from timeloom.pipeline.definition.models import Sink, Source
from timeloom.pipeline.definition.types import is_nested

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
    """No output may lie on, in or above another output or an input: a rerun would not find what the first run found."""
    owners: dict[Path, str] = {}
    below: dict[Path, str] = {}
    for name, source in sources.items():
        if source and source.path and "://" not in source.path:
            _take(place_of(base, source.path), f"source {name}", owners, below)
    for at, path in _targets(document, sinks).items():
        place = place_of(base, path)
        owner = next((owners[part] for part in (place, *place.parents) if part in owners), below.get(place))
        if owner is not None:
            document.blame(at, f"this path and that of {owner} overlap; choose another")
        whose = f"sink {at[1]}" if at[0] == "sinks" else str(at[0])
        _take(place, whose, owners, below)


def place_of(base: Path, path: str) -> Path:
    """Where a path of the file leads, through ``~`` and links."""
    return (base / Path(path).expanduser()).resolve()


def _take(place: Path, owner: str, owners: dict[Path, str], below: dict[Path, str]) -> None:
    """Note whose a place is, and whose lies below the directories above it."""
    owners.setdefault(place, owner)
    for above in place.parents:
        below.setdefault(above, owner)


def _targets(document: Document, sinks: dict[str, Sink | None]) -> dict[At, str]:
    """The paths that a run writes to: sinks, the quarantine, and the files of the report."""
    targets: dict[At, str] = {("sinks", name, "path"): sink.path for name, sink in sinks.items() if sink}
    quarantine, report = document.data.get("quarantine"), document.data.get("report")
    if isinstance(quarantine, dict) and isinstance(quarantine.get("path"), str):
        targets["quarantine", "path"] = quarantine["path"]
    if isinstance(report, str):
        # Two files, not the whole directory: results may lie beside their report.
        targets["report",] = f"{report}/report.json"
        targets["report", "page"] = f"{report}/report.html"
    return targets
