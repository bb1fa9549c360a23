"""``timeloom index build`` and ``timeloom index info``: stab-forests in files."""

import json

import click

from timeloom.cli.screen import say, working
from timeloom.cli.state import with_debug
from timeloom.cli.texts import parse_period


@click.group("index", short_help="Build an index of a table's periods, or describe one")
def command() -> None:
    """Stab-forests in files: which rows are active at an instant, without reading the table."""


@with_debug
@command.command("build", short_help="Index the periods of a table")
@click.argument("table")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the index.")
@click.option("--period", default="start,end", show_default=True, metavar="START,END", help="The period columns.")
@click.option("--closed", help="Which ends belong to the periods: left (default), right, both, neither.")
@click.option("--open-end", multiple=True, help="An end that means 'until further notice', as null does.")
def build(table: str, output: str, period: str, closed: str | None, open_end: tuple[str, ...]) -> None:
    """Index the periods of a table; the ids of events are row numbers, from 0."""
    from timeloom.pipeline.tables.files import read_table
    from timeloom.stab_forest.forest import StabForest

    columns = parse_period("period", period, closed, open_end)
    with working(f"indexing {table} → {output}"):
        forest = StabForest.build(read_table(table), period=columns)
        forest.save(output)
    say(f"{len(forest):,} events to {output}")


@with_debug
@command.command("info", short_help="Describe an index")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(file: str, as_json: bool) -> None:
    """Check an index and say what it holds."""
    from timeloom.stab_forest.forest import StabForest

    facts = StabForest.load(file).describe()
    if as_json:
        click.echo(json.dumps(facts, default=str))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value}")
