"""``timeloom plot TABLE -o picture.svg``: a picture of a file."""

from typing import Any

import click

from timeloom.cli.period_texts import readable
from timeloom.cli.reading import Reading, refuse_texts, with_reading
from timeloom.cli.screen import say, working
from timeloom.cli.state import with_debug
from timeloom.cli.texts import parse_period, parse_value
from timeloom.errors import UsageError


@with_debug
@with_reading
@click.command("plot", short_help="Draw a table: lanes, steps, a histogram, rectangles")
@click.argument("table")
@click.option("-o", "--output", required=True, metavar="FILE", help="The picture: .html, .svg, .png or .json.")
@click.option(
    "--kind", type=click.Choice(["auto", "lanes", "pairs", "steps", "histogram", "rectangles"]), default="auto"
)
@click.option("--value", metavar="COLUMN", help="The numeric column of steps and histograms.")
@click.option("--color", metavar="COLUMN", help="The column that colours lanes and rectangles.")
@click.option("--by", metavar="COLUMN", help="The column that groups lanes.")
@click.option("--period", default="start,end", show_default=True, metavar="START,END", help="The period columns.")
@click.option("--right-period", default="start_right,end_right", show_default=True, metavar="START,END")
@click.option("--sys-period", default="sys_start,sys_end", show_default=True, metavar="START,END")
@click.option("--app-period", default="app_start,app_end", show_default=True, metavar="START,END")
@click.option(
    "--window", metavar="A,B,C,D", help="A window over rectangles: system time A to B, application time C to D."
)
@click.option("--closed", help="Which ends belong to the periods: left (default), right, both, neither.")
@click.option("--open-end", multiple=True, help="An end that means 'until further notice', as null does.")
@click.option("--title", help="What stands above the picture.")
@click.option("--width", type=int, default=720, show_default=True)
@click.option("--height", type=int)
def command(table: str, output: str, **given: Any) -> None:
    """Draw a table and write the picture, which needs neither a browser nor a network."""
    from timeloom.plots.plot import plot

    closed, open_end = given["closed"], given["open_end"]
    named = ("period", "right_period", "sys_period", "app_period")
    periods: dict[str, Any] = {name: parse_period(name, given[name], closed, open_end) for name in named}
    options = {name: given[name] for name in ("kind", "value", "color", "by", "title", "width", "height")}
    with working(f"drawing {table} → {output}"):
        reading = Reading.of(given)
        rows = reading.table(table)
        reading.require_typed({table: rows})
        rows, _ = readable(rows, periods.values(), reading.dates, table, policy=None)
        refuse_texts({table: rows}, list(periods.values()))
        drawn = plot(rows, window=_window(given["window"]), **options, **periods)
        drawn.save(output)
    say(f"{drawn!r} to {output}")


def _window(text: str | None) -> Any:
    if text is None:
        return None
    parts = [parse_value(part.strip()) for part in text.split(",")]
    if len(parts) != 4:
        raise UsageError(f"--window {text!r} has {len(parts)} parts; give four instants, such as 2,4,11,13")
    return (parts[0], parts[1]), (parts[2], parts[3])
