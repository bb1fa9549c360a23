"""The plot of an experiment: the paper's axes and series, one panel for each of its diagrams, as SVG."""

import math
from typing import Any

import vl_convert

from benchmarks.reproduce.compact import compact
from benchmarks.reproduce.figures import Axis, Figure

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
COLOURS = ["#1f5fa8", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666", "#e6ab02", "#17becf"]
WIDE, NARROW, COLUMNS = 420, 240, 3


def svg(figure: Figure, points: list[dict[str, Any]], *, labels: bool = True) -> str:
    """The picture, or nothing if there is nothing to draw. Without labels of marks, for screen readers, it is small."""
    if not points:
        return ""
    spec = specification(figure, points)
    spec["config"]["aria"] = labels
    drawn: str = vl_convert.vegalite_to_svg(spec)
    return drawn if labels else compact(drawn)


def specification(figure: Figure, points: list[dict[str, Any]]) -> dict[str, Any]:
    panels = list(dict.fromkeys(point["panel"] for point in points))
    series = list(dict.fromkeys(point["series"] for point in points))
    shown = [dict(point) for point in points if not figure.y.log or point["y"] > 0]
    colour = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "sort": series,
        "scale": {"domain": series, "range": COLOURS[: len(series)]},
        "legend": {"orient": "bottom", "columns": 4, "labelLimit": 260},
    }
    encoding = {"x": _channel("x", figure.x), "y": _channel("y", figure.y), "color": colour}
    mark = {"type": "line", "point": {"size": 22}, "strokeWidth": 1.6}
    if figure.mark != "line":
        mark = {"type": "bar"}
        encoding |= _bars(figure, shown, series)
    size = WIDE if len(panels) == 1 else NARROW
    one = {"mark": mark, "encoding": encoding, "width": size, "height": round(size * 0.66)}
    whole: dict[str, Any] = {
        "$schema": SCHEMA,
        "data": {"values": shown},
        "config": {"font": "sans-serif", "view": {"stroke": "#ddd"}, "axis": {"gridColor": "#eee"}},
    }
    if len(panels) == 1:
        return {**whole, **one}
    facet = {"field": "panel", "type": "nominal", "title": None, "sort": panels}
    independent = {"scale": {"x": "independent", "y": "independent"}}
    return {**whole, "facet": facet, "columns": COLUMNS, "spec": one, "resolve": independent}


def _bars(figure: Figure, points: list[dict[str, Any]], series: list[str]) -> dict[str, Any]:
    """Bars side by side. A logarithmic axis has no zero to stand on: bars begin below the least of their panel."""
    channels: dict[str, Any] = {"x": {**_channel("x", Axis(figure.x.title, named=True)), "sort": None}}
    if figure.mark == "bar" and any(point["series"] != point["x"] for point in points):
        channels["xOffset"] = {"field": "series", "sort": series}
    if figure.y.log:
        for point in points:
            least = min(other["y"] for other in points if other["panel"] == point["panel"])
            point["floor"] = 10.0 ** (math.floor(math.log10(least)) - (math.log10(least) % 1 < 0.1))
        channels["y"] = {**_channel("y", figure.y), "stack": None}
        channels["y2"] = {"field": "floor"}
    return channels


def _channel(name: str, axis: Axis) -> dict[str, Any]:
    if axis.named:
        return {"field": name, "type": "nominal", "title": axis.title, "axis": {"labelAngle": -30}}
    scale = {"type": "log"} if axis.log else {}
    ticks = {"format": "~s", "labelOverlap": True} if name == "x" else {"format": "~g", "labelOverlap": True}
    return {"field": name, "type": "quantitative", "title": axis.title, "scale": scale, "axis": ticks}
