"""Vega-Lite specifications of each kind of picture."""

import json
from dataclasses import dataclass
from typing import Any

from timeloom.model.ticks import Axis
from timeloom.report.pictures.calendar import ticks

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


def time_field(name: str, axis: Axis, title: str, rows: list[dict[str, Any]], end: str = "end") -> dict[str, Any]:
    """A channel of times: calendar ticks for dates and timestamps, numbers for integers."""
    if axis is Axis.INTEGER:
        return {
            "field": name,
            "type": "quantitative",
            "title": title,
            "scale": {"zero": False, "nice": False},
            "axis": {"tickMinStep": 1, **ROOMY},
        }
    return {
        "field": name,
        "type": "temporal",
        "title": title,
        "scale": {"type": "utc", "nice": False},
        "axis": {**_calendar([float(row[column]) for row in rows for column in (name, end)]), **ROOMY},
    }


def _calendar(times: list[float]) -> dict[str, Any]:
    """Ticks on borders of the calendar, with labels that tell the day as well as the hour."""
    if not times:
        return {}
    found = ticks(int(min(times) * 1000), int(max(times) * 1000), is_time=True)
    labels = {f"{tick.at / 1000:.15g}": tick.label for tick in found}
    written = f"{json.dumps(labels)}[time(datum.value)]"
    return {"values": [tick.at / 1000 for tick in found], "labelExpr": written, "labelOverlap": "greedy"}


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
        "x": time_field("start", axis, " – ".join(names), rows),
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


def pairs(
    frame: Frame, bars: list[dict[str, Any]], lines: list[dict[str, Any]], axis: Axis, names: tuple[str, str]
) -> Any:
    """Bars of both sides in lanes of their own, one above the other, and a line for each pair."""
    deepest = max((bar["lane"] for bar in bars), default=0) + 1
    x = time_field("start", axis, "", bars)
    y = {"field": "lane", "type": "quantitative", "axis": None, "scale": {"domain": [deepest, -1], "nice": False}}
    joined = {
        "mark": {"type": "rule", "color": "#8a94a0", "strokeWidth": 1, "opacity": 0.7},
        "data": {"values": lines},
        "encoding": {
            "x": x | {"field": "left"},
            "x2": {"field": "right"},
            "y": y | {"field": "above"},
            "y2": {"field": "below"},
        },
    }
    drawn = {
        "mark": {"type": "rule", "strokeWidth": LANE - 6},
        "data": {"values": bars},
        "encoding": {
            "x": x,
            "x2": {"field": "end"},
            "y": y,
            "color": {
                "field": "side",
                "type": "nominal",
                "scale": {"domain": list(names), "range": [BLUE, WINDOW]},
                "legend": {"title": None, "orient": "top"},
            },
            "tooltip": [{"field": name} for name in ("side", "period")],
        },
    }
    return frame.around([joined, drawn], LANE * (deepest + 1))


def steps(frame: Frame, rows: list[dict[str, Any]], axis: Axis, names: tuple[str, str], value: str) -> Any:
    """A line of steps, filled to zero; where rows are reduced, the band between least and greatest, darker."""
    x = {"x": time_field("start", axis, " – ".join(names), rows), "x2": {"field": "end"}}
    reduced = bool(rows) and "least" in rows[0]
    low, high = ("least", "greatest") if reduced else ("value", "value")
    levels = _levels([float(row[name]) for row in rows for name in (low, high)])
    y = {"field": high, "type": "quantitative", "title": value, "axis": levels}
    filled = {
        "mark": {"type": "rect", "opacity": 0.25, "color": BLUE},
        "data": {"values": rows},
        "encoding": {**x, "y": y | {"field": low}, "y2": {"datum": 0}},
    }
    layers = [filled, _line(x["x"], y, rows, high)]
    if reduced:
        band = {"mark": {"type": "rect", "opacity": 0.6, "color": BLUE}, "data": {"values": rows}}
        layers.insert(1, band | {"encoding": {**x, "y": y, "y2": {"field": low}}})
    return frame.around(layers, 220)


def _levels(values: list[float]) -> dict[str, Any]:
    """Ticks of a value axis: whole numbers have none between them, few ones have one each."""
    if not all(value.is_integer() for value in values):
        return {}
    most = int(max(values, default=0))
    few = min(values, default=0) >= 0 and most <= 10
    return {"values": list(range(most + 1)), "format": "d"} if few else {"tickMinStep": 1}


def _line(x: dict[str, Any], y: dict[str, Any], rows: list[dict[str, Any]], value: str) -> dict[str, Any]:
    """The line of steps; it breaks where no row is, and rows that overlap have lines of their own."""
    points, run, end = [], 0, None
    for row in sorted(rows, key=lambda row: float(row["start"])):
        run += end is not None and row["start"] != end
        end = row["end"]
        points += [{"start": row[at], value: row[value], "run": run} for at in ("start", "end")]
    mark = {"type": "line", "color": BLUE, "strokeWidth": 1.5, "interpolate": "step-after"}
    return {
        "mark": mark,
        "data": {"values": points},
        "encoding": {"x": x, "y": y, "detail": {"field": "run"}, "order": {"field": "start"}},
    }


def histogram(frame: Frame, rows: list[dict[str, Any]], value: str) -> Any:
    """Bars over ranges of a value."""
    encoding = {
        "x": {
            "field": "low",
            "type": "quantitative",
            "title": value,
            "scale": {"zero": False, "nice": False},
            "axis": {"tickMinStep": 1} if all(row["low"] % 1 == 0.5 for row in rows) else {},
        },
        "x2": {"field": "high"},
        "y": {"field": "rows", "type": "quantitative", "title": "rows", "axis": {"tickMinStep": 1}},
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
        "x": time_field("sys_start", axes[0], names[0], rows, "sys_end"),
        "x2": {"field": "sys_end"},
        "y": time_field("app_start", axes[1], names[1], rows, "app_end"),
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
