"""The page of the documentation that tells of a run: its summary between two marks, and a few pictures beside it."""

from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reproduce.drawing import svg
from benchmarks.reproduce.figures import PAPERS, Figure
from benchmarks.reproduce.page import reason

BEGIN, END = "<!-- a run: written by --evidence -->", "<!-- end of the run -->"
STRONGEST = ("counting-2", "stab-forest-6", "sweeping-16")
"""The pictures that are kept with the documentation."""

Results = list[tuple[Figure, dict[str, Any]]]


def write(page: Path, results: Results, machine: dict[str, Any], scale: str) -> None:
    """Replace what stands between the marks, and the pictures."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} has no place for a run; it needs the lines {BEGIN!r} and {END!r}")
    before, _, rest = text.partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{summary(results, machine, scale)}\n{END}{rest.partition(END)[2]}")
    folder = page.parent / "evidence"
    folder.mkdir(exist_ok=True)
    for figure, result in results:
        if figure.name in STRONGEST and result["points"]:
            (folder / f"{figure.name}.svg").write_text(svg(figure, result["points"], labels=False))


def summary(results: Results, machine: dict[str, Any], scale: str) -> str:
    """What was run on what, how many verdicts there are of each kind, and a line for each figure."""
    counted = Counter(result["verdict"] for _, result in results)
    told = ", ".join(f"{number} {verdict}" for verdict, number in counted.most_common())
    spent = sum(result["spent"] for _, result in results)
    lines = [
        f"Scale `{scale}`, {machine['date']}, {machine['processor']}, {machine['cores']} cores, {machine['memory']},",
        f"load {machine['load']}; Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine['numba']},",
        f"DuckDB {machine['duckdb']}. {len(results)} figures in {spent / 60:.0f} minutes: {told}.",
        "",
    ]
    for paper, title in PAPERS.items():
        rows = [_row(figure, result) for figure, result in results if figure.paper == paper]
        lines += [f"### {title}", "| figure | | verdict | reason |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(figure: Figure, result: dict[str, Any]) -> str:
    cells = figure.number, figure.title, result["verdict"], reason(result)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
