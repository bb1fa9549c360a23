"""Writes a report: ``report.json`` and ``report.html``."""

import json
import os
import stat
import uuid
from html import escape
from pathlib import Path
from typing import Any

from timeloom.report.page import page

JSON, PAGE = "report.json", "report.html"


def render(run: dict[str, Any]) -> dict[str, str]:
    """Make the texts of both files."""
    return {JSON: _data(run), PAGE: page(run)}


def write_report(run: dict[str, Any], directory: str) -> Path:
    """Write both files, each whole or not at all, and return the path of the page.

    This is for runs whose outputs have not changed, or cannot change back: a picture that fails leaves a plain page.
    """
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    _replace(place / JSON, _data(run))
    try:
        text = page(run)
    except Exception as error:
        text = f"<!doctype html><p>{escape(str(run['error'] or run['status']))}<p>no page: {escape(repr(error))}"
    _replace(place / PAGE, text)
    return place / PAGE


def _data(run: dict[str, Any]) -> str:
    return json.dumps(run, indent=2, ensure_ascii=False, default=str) + "\n"


def _replace(path: Path, text: str) -> None:
    """Replace a file, or the one that a link points to; its permissions stay."""
    path = path.resolve()
    scratch = path.with_name(f".{path.name}.timeloom-staging-{uuid.uuid4().hex}")
    try:
        scratch.write_text(text, encoding="utf-8")
        if path.exists():
            os.chmod(scratch, stat.S_IMODE(path.stat().st_mode))
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
