"""The report as one HTML page that needs nothing else: told from its reader's side, results first.

Pictures are drawn by the page's own templates, not by `timeloom.plots`: a report needs no extra, follows the reader's
light or dark, and stays readable on a telephone, where a finished picture would only shrink.
"""

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from timeloom.report.pictures.views import across, lanes_view, time_range, view

Data = dict[str, Any]
SHARES = 6
"""So many parts of the time are named; the others are one."""


def page(run: Data) -> str:
    """Write the page of a run, given as `RunRecord.as_data` gives it."""
    style = (files("timeloom.report") / "templates" / "style.css").read_text(encoding="utf-8")
    steps = {step["name"]: step for step in run["steps"]}
    return (
        _templates()
        .get_template("page.html")
        .render(
            run=run,
            style=style,
            results=[_result(sink, steps.get(sink["table"])) for sink in run["sinks"]],
            facts=_facts(run),
            shares=shares(run),
        )
    )


@cache
def _templates() -> Environment:
    """The templates; whatever they show is escaped, and a name that is not there is an error."""
    found = Environment(
        loader=PackageLoader("timeloom.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(count=count, seconds=seconds, size=size, when=when, value=value_text)
    return found


def _result(sink: Data, step: Data | None) -> Data:
    picture = sink["picture"]
    is_drawn = picture is not None and picture["kind"] != "lanes"
    timed = picture is not None and "axis" in picture
    return {
        "sink": sink,
        "step": step,
        "view": view(picture),
        "range": time_range(picture, across(picture)) if timed else "",
        "lanes": lanes_view(sink["bars"]) if not is_drawn or picture["kind"] in ("days", "density") else None,
        "is_look": is_drawn,
        "without": picture["without"] if timed else 0,
    }


def _facts(run: Data) -> Data:
    return {
        "read": sum(source["rows"] for source in run["sources"]),
        "refused": sum(source["quarantined"] + source["dropped"] for source in run["sources"]),
        "written": sum(sink["rows"] - sink["refused"] for sink in run["sinks"]),
        "balanced": all(source["balanced"] for source in run["sources"]),
        "unit": "event" if run["kind"] == "stream" else "row",
    }


def shares(run: Data) -> list[Data]:
    """Where the time went, the longest first; what no part accounts for is starting and ending."""
    kinds = (("source", "reading"), ("step", "computing"), ("sink", "writing"))
    parts = [
        {"name": part["name"], "kind": kind, "what": what, "seconds": part["seconds"]}
        for kind, what in kinds
        for part in run[f"{kind}s"]
    ]
    if run["kind"] == "stream":
        parts = []
    parts.sort(key=lambda part: -part["seconds"])
    named, others = parts[:SHARES], parts[SHARES:]
    if others:
        rest = sum(part["seconds"] for part in others)
        named.append({"name": f"{len(others)} other parts", "kind": "others", "what": "", "seconds": rest})
    rest = run["seconds"] - sum(part["seconds"] for part in parts)
    if parts and rest > 0:
        named.append({"name": "starting and ending", "kind": "rest", "what": "", "seconds": rest})
    whole = sum(part["seconds"] for part in named) or 1
    return [part | {"share": 100 * part["seconds"] / whole} for part in named]


def count(number: int | None) -> str:
    """A count with its thousands apart."""
    return "–" if number is None else f"{number:,}"


def seconds(time: float) -> str:
    """A length of time.

    >>> seconds(0.004), seconds(12.34), seconds(125)
    ('< 0.1 s', '12.3 s', '2 min 5 s')
    """
    if 0 < time < 0.05:
        return "< 0.1 s"
    if time < 60:
        return f"{time:.1f} s"
    minutes, rest = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(number: int) -> str:
    """A number of bytes.

    >>> size(512), size(2_500_000)
    ('512 B', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return f"{number / factor:,.1f} {unit}"
    return f"{number} B"


def when(text: str) -> str:
    """The moment of a run as a reader likes it."""
    found = datetime.fromisoformat(text)
    return f"{found.day} {found:%B %Y, %H:%M} UTC"


def value_text(value: Any) -> str:
    """A fact of a plan."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(value_text(part) for part in value) if isinstance(value, list | tuple) else str(value)
