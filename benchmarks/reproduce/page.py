"""The report: one page that loads nothing, a summary on top, then experiment by experiment."""

import html
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reproduce.drawing import svg
from benchmarks.reproduce.figures import PAPERS, Figure
from benchmarks.reproduce.reasons import why
from benchmarks.reproduce.rule import HOLDING

STYLE = (Path(__file__).parent / "report.css").read_text()
MARKS = {
    "yes": "✓ holds",
    "better": "✓ better than stated",
    "partly": "≈ goes that way",
    "no": "✗ does not hold",
    "aside": "explains",
}
Results = list[tuple[Figure, dict[str, Any]]]


def page(results: Results, machine: dict[str, Any], scale: str) -> str:
    """The whole report."""
    told = ", ".join(f"{name} {value}" for name, value in machine.items())
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        "<title>Timeloom: five papers, run again</title>",
        f"<style>{STYLE}</style><h1>Five papers, run again</h1>",
        f"<p>{_counted(results)}</p>",
        f"<p class='quiet'>Scale {scale}. {html.escape(told)}. Ratios are of times taken side by side in one process; ",
        "answers were compared before. Seconds are of this machine only.</p>",
        _summary(results),
    ]
    for paper, title in PAPERS.items():
        of_paper = [(figure, result) for figure, result in results if figure.paper == paper]
        if of_paper:
            parts.append(f"<h2>{html.escape(title)}</h2>")
            parts += [_section(figure, result) for figure, result in of_paper]
    return "\n".join(parts)


def _counted(results: Results) -> str:
    """How many figures have which verdict, and what verdicts mean."""
    counted = Counter(result["verdict"] for _, result in results)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counted.most_common())
    return (
        f"{len(results)} tables and figures that measure something, our implementation beside the papers' rivals: "
        f"{told}. <b>Confirmed</b>: all that the paper states of a figure holds here. <b>In part</b>: some of it does, "
        "or goes the same way. <b>Refuted</b>: nothing does. <b>Not comparable</b>: it cannot be measured here. "
        "A statement holds by one rule: four fifths of a stated factor, 1 x for “faster”, 3 x for “many times”, "
        "up to 1.5 x for “about”; where a paper concedes a lead that ours has instead, it is better than stated. Each "
        "figure has a plot with the paper's axes and series, what the paper says, its ratio beside ours, and the "
        "command that makes it."
    )


def _verdict(result: dict[str, Any]) -> str:
    verdict = result["verdict"]
    return f"<span class='verdict {verdict.replace(' ', '-')}'>{verdict}</span>"


def _summary(results: Results) -> str:
    rows = [
        f"<tr><td>{figure.paper}</td><td><a href='#{figure.name}'>{figure.number}</a></td>"
        f"<td>{html.escape(figure.title)}</td><td>{_verdict(result)}</td><td>{html.escape(reason(result))}</td></tr>"
        for figure, result in results
    ]
    head = "<tr><th>paper</th><th>figure</th><th></th><th>verdict</th><th>reason</th></tr>"
    return f"<table class='summary'>{head}{''.join(rows)}</table>"


def reason(result: dict[str, Any]) -> str:
    """Why the verdict is what it is, in one line."""
    findings = [finding for finding in result["findings"] if finding["grade"] != "aside"]
    if not findings:
        return result["reason"]
    missed = [finding for finding in findings if finding["grade"] not in HOLDING]
    better = [finding for finding in findings if finding["grade"] == "better"]
    words = [f"{len(findings) - len(missed)} of {len(findings)} statements hold. {_told(missed)}"] if missed else []
    words += [f"Better than stated: {_told(better)}"] if better else []
    return ". ".join(words) or _told(findings[:1])


def _told(findings: list[dict[str, Any]]) -> str:
    return "; ".join(f"{one['says']}: {one['measured']} (paper: {one['paper']})" for one in findings)


def _section(figure: Figure, result: dict[str, Any]) -> str:
    rows = [
        f"<tr><td>{html.escape(one['says'])}</td><td>{html.escape(one['paper'])}</td><td>{html.escape(one['measured'])}</td>"
        f"<td>{MARKS[one['grade']]}</td></tr>"
        for one in sorted(result["findings"], key=lambda one: one["grade"] == "aside")
    ]
    head = "<tr><th>statement</th><th>paper</th><th>measured</th><th></th></tr>"
    checks = "; ".join(result["checks"])
    because = why(figure.name, result["verdict"])
    told = [f"Checked before: {checks}." if checks else "", result["reason"], figure.learned]
    return "\n".join(
        [
            f"<h3 id='{figure.name}'>{_named(figure)}: {html.escape(figure.title)} {_verdict(result)}</h3>",
            f"<p>{html.escape(figure.statement)}</p>",
            svg(figure, result["points"]),
            f"<table class='findings'>{head}{''.join(rows)}</table>" if rows else "",
            f"<p><b>Why in part:</b> {html.escape(because)}</p>" if because else "",
            *(f"<p class='quiet'>{html.escape(text)}</p>" for text in told if text),
            f"<p class='quiet'><code>{html.escape(figure.command(result['scale']))}</code> ({result['spent']} s)</p>",
        ]
    )


def _named(figure: Figure) -> str:
    return figure.number.capitalize() if figure.number[0].isalpha() else f"Figure {figure.number}"
