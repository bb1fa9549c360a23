"""``timeloom sql "…" a=a.parquet b=b.csv``: a query over files."""

import time
from typing import Any

import click

from timeloom.cli.reading import Reading, with_reading
from timeloom.cli.screen import say, working
from timeloom.cli.state import with_debug
from timeloom.errors import UsageError


@with_debug
@with_reading
@click.command("sql", short_help="Run a query over files")
@click.argument("text")
@click.argument("tables", nargs=-1, metavar="NAME=FILE…")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write; - is the screen.")
@click.option("--explain", "plan", is_flag=True, help="Say which verb answers what, and run nothing.")
def command(text: str, tables: tuple[str, ...], output: str, plan: bool, **given_reading: Any) -> None:
    """Run SQL, with what it says about time, over files that it names.

    timeloom sql "select * from a join b on a.period during b.period" a=a.parquet b=b.csv
    """
    import timeloom
    from timeloom.cli.results import Target
    from timeloom.engines.tables.frames import to_arrow
    from timeloom.pipeline.formats.registry import is_index_file
    from timeloom.pipeline.tables.indexes import load_index

    places, reading = _places(tables), Reading.of(given_reading)
    target = Target.of(output, reading)
    begun = time.perf_counter()
    given = {}
    for name, path in places.items():
        with working(f"reading {path}"):
            given[name] = load_index(path) if is_index_file(path) else reading.table(path)
    reading.require_typed(given)
    if plan:
        click.echo(str(timeloom.explain(timeloom.sql, text, **given)))
        return
    with working(f"sql → {output}"):
        answer, _ = to_arrow(timeloom.sql(text, **given), "result")
        rows = target.write(answer.to_batches(), answer.schema)
    if output != "-":
        say(f"{rows:,} rows to {output} in {time.perf_counter() - begun:.2f} s")


def _places(tables: tuple[str, ...]) -> dict[str, str]:
    """The files by the names that the query has for them."""
    places: dict[str, str] = {}
    for given in tables:
        name, equals, path = given.partition("=")
        if not (name and equals and path):
            raise UsageError(f"{given!r} names no table; give NAME=FILE, such as a=a.parquet")
        if name in places:
            raise UsageError(f"table {name!r} was given before ({places[name]!r}); give each name once")
        places[name] = path
    return places
