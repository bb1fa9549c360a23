"""The report as one HTML page that needs nothing else."""

from html import escape
from importlib.resources import files
from typing import Any

from timeloom.report.timeline import draw

Data = dict[str, Any]


def page(run: Data) -> str:
    """Write the page of a run, given as `RunRecord.as_data` gives it."""
    style = (files("timeloom.report") / "style.css").read_text(encoding="utf-8")
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_text(run["pipeline"])} · Timeloom</title>',
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head><body><main>',
        _header(run),
        f'<p class="error">{_text(run["error"])}</p>' if run["error"] else "",
        _cards(run),
        _sources(run["sources"]),
        _steps(run["steps"]),
        *(["<h2>Results</h2>"] if run["sinks"] else []),
        *(_sink(sink) for sink in run["sinks"]),
        f'<footer class="soft">{_text(" · ".join(f"{name} {value}" for name, value in run["about"].items()))}</footer>',
        "</main></body></html>",
    ]
    return "\n".join(part for part in parts if part)


def _header(run: Data) -> str:
    about = f"{run['started']} · {run['engine']} engine · {run['file']}"
    status = _text(run["status"])
    return (
        f'<header><h1>{_text(run["pipeline"])}</h1><span class="pill {status}">{status}</span>'
        f'<span class="soft">{_text(about)}</span></header>'
    )


def _text(value: Any) -> str:
    return escape(str(value))


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _cards(run: Data) -> str:
    read = sum(source["rows"] for source in run["sources"])
    refused = sum(source["quarantined"] + source["dropped"] for source in run["sources"])
    written = sum(sink["rows"] for sink in run["sinks"])
    facts = [
        (_count(read), "rows read"),
        (_count(refused), "rows quarantined or dropped"),
        (_count(len(run["steps"])), "steps"),
        (_count(written), "rows written"),
        (f"{run['seconds']:.1f} s", "in all"),
    ]
    cards = "".join(f'<div class="card"><b>{value}</b><span class="soft">{what}</span></div>' for value, what in facts)
    return f'<div class="cards">{cards}</div>'


def _sources(sources: list[Data]) -> str:
    if not sources:
        return ""
    head = (
        "<tr><th>source<th class=n>rows read<th class=n>fit<th class=n>quarantined<th class=n>dropped<th>accounted for"
    )
    rows = "".join(_source(source) for source in sources)
    return f'<h2>Sources</h2><section class="box"><table>{head}<th class=n>time</tr>{rows}</table></section>'


def _source(source: Data) -> str:
    fit = 100 * source["admitted"] / source["rows"] if source["rows"] else 100.0
    out = 100 - fit if source["rows"] else 0.0
    mark = '<span class="ok">✓ every row</span>' if source["balanced"] else '<span class="no">✗ rows are missing</span>'
    why = [f"{_count(count)} × {_text(reason)}" for reason, count in source["reasons"].items()]
    if source["note"]:
        why.append(_text(source["note"]))
    if source["quarantine"] and source["quarantined"]:
        why.append(f"kept in {_text(source['quarantine'])}")
    return (
        f'<tr><td><b>{_text(source["name"])}</b> <span class="soft">{_text(source["format"])}</span>'
        f'<br><span class="soft">{_text(source["place"])}</span>'
        f"<td class=n>{_count(source['rows'])}<td class=n>{_count(source['admitted'])}"
        f"<td class=n>{_count(source['quarantined'])}<td class=n>{_count(source['dropped'])}"
        f'<td>{mark}<div class="balance"><i class="fit" style="width:{fit:.3f}%"></i>'
        f'<i class="out" style="width:{out:.3f}%"></i></div><span class="soft">{"<br>".join(why)}</span>'
        f"<td class=n>{source['seconds']:.1f} s</tr>"
    )


def _steps(steps: list[Data]) -> str:
    return "<h2>Steps</h2>" + "".join(_step(step) for step in steps) if steps else ""


def _step(step: Data) -> str:
    rows = "" if step["rows"] is None else f"{_count(step['rows'])} rows · "
    told = f'<div class="soft">{_text(step["note"])}</div>' if step["note"] else ""
    refused = f" · {_count(step['quarantined'])} rows quarantined" if step["quarantined"] else ""
    return (
        f'<section class="box"><h3>{_text(step["name"])}</h3><div class="soft"><code>{_text(step["verb"])}</code> of '
        f"{_text(', '.join(step['inputs']))} · {rows}{step['seconds']:.1f} s{refused}</div>{told}"
        f"{_call(step)}{_plan(step['plan'])}</section>"
    )


def _call(step: Data) -> str:
    if step["verb"] == "sql":
        return f"<pre>{_text(step['call'].get('sql', ''))}</pre>"
    return _facts(step["call"])


def _facts(facts: Data) -> str:
    lines = "".join(f"<dt>{_text(name)}<dd>{_text(_value(value))}" for name, value in facts.items())
    return f"<dl>{lines}</dl>" if lines else ""


def _value(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(_value(part) for part in value) if isinstance(value, list | tuple) else str(value)


def _plan(plan: Data | None) -> str:
    if plan is None:
        return ""
    why = "".join(f"<li>{_text(reason)}" for reason in plan.get("why", ()))
    facts = {name: value for name, value in plan.items() if name != "why"}
    return f"<details open><summary>plan</summary>{_facts(facts)}<ul>{why}</ul></details>"


def _sink(sink: Data) -> str:
    size = sink["bytes"] / 1e6
    names = sink["columns"]
    shown = len(sink["sample"][0]) if sink["sample"] else len(names)
    more = f"<th>… {len(names) - shown} more columns" if len(names) > shown else ""
    head = "".join(f"<th>{_text(name)}" for name in names[:shown]) + more
    rows = "".join("<tr>" + "".join(f"<td>{_text(value)}" for value in row) + "</tr>" for row in sink["sample"])
    return (
        f'<section class="box"><h3>{_text(sink["name"])}</h3><div class="soft">{_count(sink["rows"])} rows · '
        f"{size:,.2f} MB · {_text(sink['format'])}, {_text(sink['mode'])} · {sink['seconds']:.1f} s · "
        f"{_text(sink['place'])}</div>{_legend(sink)}{draw(sink['bars'])}"
        f'<details><summary>first rows</summary><table class="sample"><tr>{head}</tr>{rows}</table></details></section>'
    )


def _legend(sink: Data) -> str:
    """Say which colour is which period."""
    marks = zip(("own", "other"), sink["legend"], strict=False)
    shown = "".join(f'<span class="key {kind}"></span>{_text(name)} ' for kind, name in marks)
    return f'<div class="legend soft">{shown}</div>' if sink["bars"] else ""
