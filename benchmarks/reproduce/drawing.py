"""The plot of an experiment: the paper's axes and series, one panel for each of its diagrams, as SVG."""

import math
from typing import Any

import vl_convert

from benchmarks.reproduce.compact import compact
from benchmarks.reproduce.figures import Axis, Figure

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
COLOURS = ["#1f5fa8", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666", "#e6ab02", "#17becf"]
WIDE, NARROW, COLUMNS = 520, 260, 3
SHOWN = "datum.value"
PREFIXED = f"abs({SHOWN}) < 1000 ? '~g' : '~s'"
LEADING = f"round({SHOWN} / pow(10, floor(log({SHOWN}) / LN10 + 0.0001)))"
"""The first digit of a tick on a logarithmic axis: of many powers of ten only these have a label."""


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
    encoding = {"x": _channel("x", figure.x, shown), "y": _channel("y", figure.y, shown), "color": colour}
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
    channels: dict[str, Any] = {"x": {**_channel("x", Axis(figure.x.title, named=True), points), "sort": None}}
    if figure.mark == "bar" and any(point["series"] != point["x"] for point in points):
        channels["xOffset"] = {"field": "series", "sort": series}
    if figure.y.log:
        for point in points:
            least = min(other["y"] for other in points if other["panel"] == point["panel"])
            point["floor"] = 10.0 ** (math.floor(math.log10(least)) - (math.log10(least) % 1 < 0.1))
        channels["y"] = {**_channel("y", figure.y, points), "stack": None}
        channels["y2"] = {"field": "floor"}
    return channels


def _channel(name: str, axis: Axis, points: list[dict[str, Any]]) -> dict[str, Any]:
    if axis.named:
        return {"field": name, "type": "nominal", "title": axis.title, "axis": {"labelAngle": -30}}
    values = [point[name] for point in points if point[name]]
    told = (
        f"format({SHOWN}, '~s') + 's'"
        if axis.title.startswith("seconds") and " or " not in axis.title
        else f"format({SHOWN}, {PREFIXED})"
    )
    ticks: dict[str, Any] = {"labelOverlap": True, "labelExpr": f"{SHOWN} ? {told} : '0'"}
    if axis.log:
        many = values and max(values) > 300 * min(values)
        ticks["labelExpr"] = f"indexof([{'1' if many else '1, 2, 5'}], {LEADING}) < 0 ? '' : {told}"
        ticks["gridOpacity"] = {"condition": {"test": f"{LEADING} === 1", "value": 1}, "value": 0.2}
    elif all(value == round(value) for value in values):
        ticks["tickMinStep"] = 1
    scale = {"type": "log"} if axis.log else {}
    return {"field": name, "type": "quantitative", "title": axis.title, "scale": scale, "axis": ticks}
