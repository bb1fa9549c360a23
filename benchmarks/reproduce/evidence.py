"""The page of the documentation that tells of the last run: a summary between two marks, and a few pictures beside it.

What is told is kept beside the page, too, so that figures which are run again later take the place of their rows only.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reproduce.drawing import svg
from benchmarks.reproduce.figures import PAPERS, Figure
from benchmarks.reproduce.page import reason
from benchmarks.reproduce.reasons import why
from benchmarks.reproduce.registry import figures

BEGIN, END = "<!-- a run: written by --evidence -->", "<!-- end of the run -->"
STRONGEST = ("counting-2", "stab-forest-6", "sweeping-9")
"""The pictures that are kept with the documentation."""

STATE = 8
"""Digits of the state of the code that the page shows."""

Results = list[tuple[Figure, dict[str, Any]]]
Rows = dict[str, dict[str, Any]]


def write(page: Path, results: Results, machine: dict[str, Any], scale: str) -> None:
    """Replace what stands between the marks, and the pictures; figures that were not run keep their rows."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} has no place for a run; it needs the lines {BEGIN!r} and {END!r}")
    folder = page.parent / "evidence"
    folder.mkdir(exist_ok=True)
    rows = known_rows(folder / "run.json", scale) | {figure.name: _row(result) for figure, result in results}
    (folder / "run.json").write_text(json.dumps({"scale": scale, "figures": rows}, indent=1) + "\n")
    before, _, rest = text.partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{summary(rows, machine, scale)}\n{END}{rest.partition(END)[2]}")
    for figure, result in results:
        if figure.name in STRONGEST and result["points"]:
            (folder / f"{figure.name}.svg").write_text(svg(figure, result["points"], labels=False))


def known_rows(file: Path, scale: str) -> Rows:
    """What earlier runs of the same scale have found."""
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"scale": scale, "figures": {}}
    rows: Rows = kept["figures"]
    return rows if kept["scale"] == scale else {}


def _row(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "reason": reason(result),
        **{key: result[key] for key in ("verdict", "measured", "code", "spent", "findings")},
    }


def summary(rows: Rows, machine: dict[str, Any], scale: str) -> str:
    """What was run on what, how many verdicts there are of each kind, and a line for each figure."""
    known = [(figure, rows[figure.name]) for figure in figures() if figure.name in rows]
    counted = Counter(row["verdict"] for _, row in known)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counted.most_common())
    lines = [
        f"Scale `{scale}`, {machine['processor']}, {machine['cores']} cores, {machine['memory']};",
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine['numba']}, DuckDB {machine['duckdb']}.",
        f"{len(known)} figures: {told}.",
        "",
    ]
    for paper, title in PAPERS.items():
        of_paper = [_line(figure, row) for figure, row in known if figure.paper == paper]
        if of_paper:
            lines += [f"### {title}", "| figure | | verdict | reason | measured | state |", "|---|---|---|---|---|---|"]
            lines += [*of_paper, ""]
    return "\n".join(lines)


def _line(figure: Figure, row: dict[str, Any]) -> str:
    told = " ".join(filter(None, (_ended(row["reason"]), why(figure.name, row["verdict"]))))
    cells = figure.number, figure.title, row["verdict"], told, row["measured"], f"`{row['code'][:STATE]}`"
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _ended(reason: str) -> str:
    return reason if reason.endswith(".") else f"{reason}."
