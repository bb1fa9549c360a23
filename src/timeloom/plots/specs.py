"""Vega-Lite specifications of each kind of picture."""

import json
from dataclasses import dataclass
from typing import Any

from timeloom.model.ticks import Axis

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
BLUE, WINDOW = "#3b6fb6", "#d95f02"
ROOMY = {"labelFlush": False, "labelSeparation": 10, "titlePadding": 10}
"""Labels of an axis that stay apart where letters are wider than the renderer thinks."""

LANE, MOST_COLOURS = 18, 20
"""The height of a lane, and how many values may have a colour each."""


@dataclass(frozen=True)
class Frame:
    """What all pictures have: a title, a size, and what the time axes are."""

    title: str
    subtitle: str
    width: int
    height: int | None

    def around(self, layers: list[dict[str, Any]], height: int) -> dict[str, Any]:
        """A whole specification."""
        return {
            "$schema": SCHEMA,
            "title": {"text": self.title, "subtitle": self.subtitle, "anchor": "start"},
            "width": self.width,
            "height": self.height or height,
            "padding": {"left": 16, "top": 5, "bottom": 5, "right": 30},  # names fit where letters are wide, too
            "layer": layers,
            "config": {"view": {"stroke": None}, "font": "sans-serif"},
        }


def time_field(name: str, axis: Axis, title: str) -> dict[str, Any]:
    """A channel of times: calendar ticks for dates and timestamps, numbers for integers."""
    if axis is Axis.INTEGER:
        return {
            "field": name,
            "type": "quantitative",
            "title": title,
            "scale": {"zero": False, "nice": False},
            "axis": {"tickMinStep": 1, **ROOMY},
        }
    return {"field": name, "type": "temporal", "title": title, "scale": {"type": "utc", "nice": False}, "axis": ROOMY}


def lanes(
    frame: Frame,
    rows: list[dict[str, Any]],
    axis: Axis,
    names: tuple[str, str],
    color: str | None,
    groups: dict[int, str] | None = None,
) -> Any:
    """Bars in lanes; groups have their names beside their first."""
    deepest = max((row["lane"] for row in rows), default=0) + 1
    encoding: dict[str, Any] = {
        "x": time_field("start", axis, " – ".join(names)),
        "x2": {"field": "end"},
        "y": {"field": "lane", "type": "ordinal", "title": None, "axis": _named_lanes(groups or {})},
        "tooltip": [{"field": name} for name in (rows[0] if rows else {}) if name not in ("start", "end", "lane")],
        "color": _color(rows, color),
    }
    bars = {"mark": {"type": "bar", "cornerRadius": 2}, "data": {"values": rows}, "encoding": encoding}
    return frame.around([bars], max(40, LANE * deepest))


def _named_lanes(groups: dict[int, str]) -> dict[str, Any] | None:
    if not groups:
        return None
    names = json.dumps({str(lane): name for lane, name in groups.items()})
    return {"labelExpr": f"{names}[datum.value]", "values": list(groups), "ticks": False, "domain": False}


def _color(rows: list[dict[str, Any]], color: str | None) -> dict[str, Any]:
    if color is None:
        return {"value": BLUE}
    values = {row["color"] for row in rows}
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    kind = "quantitative" if numbers and len(values) > MOST_COLOURS else "nominal"
    return {"field": "color", "type": kind, "title": color}


def steps(frame: Frame, rows: list[dict[str, Any]], axis: Axis, names: tuple[str, str], value: str) -> Any:
    """Level lines from start to end, filled to zero; where rows are reduced, the band between least and greatest."""
    x = {"x": time_field("start", axis, " – ".join(names)), "x2": {"field": "end"}}
    reduced = bool(rows) and "least" in rows[0]
    low, high = ("least", "greatest") if reduced else ("zero", "value")
    y = {"y": {"field": high, "type": "quantitative", "title": value}, "y2": {"field": low}}
    filled = {
        "mark": {"type": "rect", "opacity": 0.85 if reduced else 0.3, "color": BLUE},
        "data": {"values": rows},
        "encoding": {**x, **y},
    }
    line = {
        "mark": {"type": "rule", "color": BLUE, "strokeWidth": 1.5},
        "data": {"values": rows},
        "encoding": {**x, "y": y["y"]},
    }
    return frame.around([filled, line], 220)


def histogram(frame: Frame, rows: list[dict[str, Any]], value: str) -> Any:
    """Bars over ranges of a value."""
    encoding = {
        "x": {"field": "low", "type": "quantitative", "title": value, "scale": {"zero": False, "nice": False}},
        "x2": {"field": "high"},
        "y": {"field": "rows", "type": "quantitative", "title": "rows"},
        "y2": {"datum": 0},
    }
    bars = {"mark": {"type": "rect", "color": BLUE, "stroke": "white"}, "data": {"values": rows}, "encoding": encoding}
    return frame.around([bars], 220)


def rectangles(
    frame: Frame,
    rows: list[dict[str, Any]],
    axes: tuple[Axis, Axis],
    names: tuple[str, str],
    window: dict[str, Any] | None,
    color: str | None = None,
) -> Any:
    """Versions over two axes, each from when to when it was believed and held; a window drawn over them."""
    encoding = {
        "x": time_field("sys_start", axes[0], names[0]),
        "x2": {"field": "sys_end"},
        "y": time_field("app_start", axes[1], names[1]),
        "y2": {"field": "app_end"},
    }
    drawn = {
        "mark": {"type": "rect", "fillOpacity": 0.35, "stroke": "#444"},
        "data": {"values": rows},
        "encoding": {**encoding, "color": _color(rows, color)},
    }
    layers = [drawn]
    if window is not None:
        mark = {"type": "rect", "fillOpacity": 0, "stroke": WINDOW, "strokeWidth": 2}
        layers.append({"mark": mark, "data": {"values": [window]}, "encoding": encoding})
    return frame.around(layers, 360)
