"""Run the papers' experiments again and write the report.

Results stand under out/reproduction/results/; what is there already, of the same code and scale, is not run again.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.reproduce import evidence
from benchmarks.reproduce.figures import PAPERS, SCALES, Figure
from benchmarks.reproduce.machine import machine
from benchmarks.reproduce.page import page, reason
from benchmarks.reproduce.registry import chosen
from benchmarks.reproduce.running import measure, run_all, state_of_code

OUTPUT = Path("out/reproduction")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("--paper", choices=list(PAPERS), help="one paper only")
    parser.add_argument("--figure", help="one figure only, as --list names it")
    parser.add_argument("--scale", choices=SCALES, default="small", metavar="small|full")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder of the report")
    parser.add_argument("--again", action="store_true", help="run what has a result already, too")
    parser.add_argument("--minutes", type=float, default=10, help="the most that a figure may take (default 10)")
    parser.add_argument(
        "--evidence", type=Path, metavar="docs/evidence.md", help="write the summary into this page, too"
    )
    parser.add_argument("--list", action="store_true", help="name the figures with the state of their code")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    asked = options()
    figures = chosen(asked.paper, asked.figure)
    if asked.list:
        for figure in figures:
            state = state_of_code(figure.run.__module__)[: evidence.STATE]
            print(f"{figure.paper:<12} {figure.number:<10} {state}  {figure.title}")
    elif asked.alone:
        asked.alone.write_text(json.dumps(measure(figures[0], asked.scale)))
    else:
        report(figures, asked)


def report(figures: list[Figure], asked: argparse.Namespace) -> None:
    """Run, write the page and the JSON beside it, and print the summary."""
    made_on = machine()
    folder = asked.output / "results"
    results = list(run_all(figures, asked.scale, folder, again=asked.again, minutes=asked.minutes))
    told = {"machine": made_on, "scale": asked.scale, "figures": [_as_json(*one) for one in results]}
    (asked.output / "report.json").write_text(json.dumps(told, indent=1))
    (asked.output / "report.html").write_text(page(results, made_on, asked.scale), encoding="utf-8")
    if asked.evidence:
        evidence.write(asked.evidence, results, made_on, asked.scale)
    show(results)
    print(f"{asked.output / 'report.html'}: {dict(Counter(result['verdict'] for _, result in results))}")
    if any(result["verdict"] == "failed" for _, result in results):
        raise SystemExit(1)


def _as_json(figure: Figure, result: dict[str, Any]) -> dict[str, Any]:
    told = {"paper": figure.paper, "figure": figure.number, "title": figure.title, "statement": figure.statement}
    return {**told, "command": figure.command(result["scale"]), "learned": figure.learned, **result}


def show(results: list[tuple[Figure, dict[str, Any]]]) -> None:
    output = Table("paper", "figure", "verdict", "reason", "s")
    for figure, result in results:
        output.add_row(figure.paper, figure.number, result["verdict"], reason(result), f"{result['spent']:.0f}")
    Console(width=160).print(output)


if __name__ == "__main__":
    main()
