"""The picture itself: a Vega-Lite specification that draws itself without a browser and without a network."""

import html
import importlib
import json
import os
from pathlib import Path
from typing import Any

from timeloom.errors import UsageError

SUFFIXES = (".html", ".svg", ".png", ".json")


class Plot:
    """A picture of a table.

    It shows itself in notebooks, and saves itself; nothing of it is loaded from elsewhere.

    Attributes
    ----------
    spec
        The picture as a Vega-Lite specification with its data; ``altair.Chart.from_dict`` takes it, to change it.
    kind
        What was drawn: ``"lanes"``, ``"pairs"``, ``"density"``, ``"steps"``, ``"band"``, ``"histogram"`` or
        ``"rectangles"``.
    """

    def __init__(self, spec: dict[str, Any], kind: str) -> None:
        self.spec = spec
        self.kind = kind

    def svg(self) -> str:
        """The picture as SVG text."""
        drawn: str = _converter().vegalite_to_svg(self.spec)
        return drawn

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write ``.html`` (with its scripts inside), ``.svg``, ``.png`` or ``.json`` (the specification)."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in SUFFIXES:
            raise UsageError(f"{str(path)!r} has no suffix of a picture; give one of: {', '.join(SUFFIXES)}")
        if suffix == ".png":
            target.write_bytes(_converter().vegalite_to_png(self.spec, scale=2))
        elif suffix == ".json":
            target.write_text(json.dumps(self.spec, indent=1))
        else:
            text = self.svg() if suffix == ".svg" else _converter().vegalite_to_html(self.spec, bundle=True)
            target.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<div style="max-width: 100%; overflow-x: auto">{self.svg()}</div>'

    def __repr__(self) -> str:
        title = self.spec["title"]
        return f"Plot({self.kind}: {html.unescape(title['text'])}; {title['subtitle']})"


def _converter() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError as error:
        raise UsageError("pictures need an extra: pip install 'timeloom[plot]'") from error
