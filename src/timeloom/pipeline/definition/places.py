"""Checks between the parts of a pipeline: what the engine can do, and that no output falls on an input."""

from pathlib import Path

from timeloom.pipeline.definition.document import Document
from timeloom.pipeline.definition.document import Path as At
from timeloom.pipeline.definition.models import Sink, Source
from timeloom.pipeline.definition.paths import absolute
from timeloom.pipeline.definition.types import is_nested
from timeloom.pipeline.formats.registry import FORMATS, INDEX


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
        if sink is not None:
            _check_sink(document, engine, name, sink)
    _check_expectations(document, sources)
    if document.data.get("quarantine") is None:
        for name, source in sources.items():
            if source and source.on_invalid == "quarantine":
                document.blame(
                    ("sources", name, "on_invalid"), "quarantine needs a place: give quarantine: {path: …} at the top"
                )
    _check_overlaps(document, base, sources, sinks)


def _check_sink(document: Document, engine: str, name: str, sink: Sink) -> None:
    form = FORMATS[sink.format]
    if engine == "spark" and (form.spark is None or not form.spark.writes):
        document.blame(("sinks", name), f"Spark writes no {form.title} files; take parquet, or engine: local", key=True)
    if engine == "local" and sink.options:
        document.blame(("sinks", name, "options"), "sinks take options on Spark only", key=True)
    if engine == "local" and form.directory is None and not sink.is_file:
        suffixes = " or ".join(form.suffixes)
        message = f"{sink.format} is one file: give a path that ends with {suffixes}, without partition_by or batches"
        document.blame(("sinks", name), message, key=True)


def _check_expectations(document: Document, sources: dict[str, Source | None]) -> None:
    """Rows that are set aside need a place, and a source that is held to something a period."""
    for name, source in sources.items():
        if source is not None and source.expect is not None and source.period is None:
            document.blame(("sources", name, "expect"), "expectations are about periods: give the source its period")
    if document.data.get("quarantine") is not None:
        return
    for section in ("sources", "steps"):
        parts = document.data.get(section)
        for name, part in parts.items() if isinstance(parts, dict) else ():
            expect = part.get("expect") if isinstance(part, dict) else None
            if isinstance(expect, dict) and expect.get("otherwise") == "quarantine":
                document.blame(
                    (section, name, "expect", "otherwise"),
                    "quarantine needs a place: give quarantine: {path: …} at the top",
                )


def _check_source(document: Document, engine: str, name: str, source: Source) -> None:
    at = ("sources", name)
    form = FORMATS.get(source.format)
    if engine == "spark":
        if source.format == INDEX:
            message = (
                "Spark reads no indexes, which are of one process; write its rows to a table, as with timeloom sql "
            )
            document.blame(
                at, f"{message}'select * from t' t={source.path} -o rows.parquet, or take engine: local", key=True
            )
        if form is not None and form.spark is None:
            document.blame(at, f"Spark reads no {form.title} files; take parquet, or engine: local", key=True)
        return
    if source.format in ("jdbc", "table"):
        document.blame((*at, "format"), f"a {source.format} source needs engine: spark")
    for column, kind in (source.columns or {}).items():
        if is_nested(kind):
            document.blame((*at, "schema", column), "with engine: local, types in a schema are simple ones")
    for option in source.options:
        if form is None or option not in form.options:
            known = ", ".join(form.options) if form is not None and form.options else "no options"
            message = f"with engine: local, a {source.format} source takes {known}"
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
    return Path(absolute(base, path)).resolve()


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
