"""Writes a report: ``report.json`` and ``report.html``."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

from timeloom.report.page import page


def write_report(run: dict[str, Any], directory: str) -> Path:
    """Write both files, each whole or not at all, and return the path of the page."""
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    _replace(place / "report.json", json.dumps(run, indent=2, ensure_ascii=False, default=str) + "\n")
    _replace(place / "report.html", page(run))
    return place / "report.html"


def _replace(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
