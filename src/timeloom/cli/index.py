"""``timeloom index``: stab-forests and bitemporal indexes in files, built, asked, grown and thinned out."""

import json
from typing import Any

import click

from timeloom.cli.period_texts import readable
from timeloom.cli.reading import Reading, refuse_texts, with_reading
from timeloom.cli.screen import say, working
from timeloom.cli.state import ALONE, show_help, with_debug
from timeloom.cli.texts import parse_period, parse_value
from timeloom.model.period import Period

_OUTPUT = click.option("-o", "--output", default="-", metavar="FILE", help="Where to write; - is the screen.")
_PERIOD = click.option(
    "--period", default="start,end", show_default=True, metavar="START,END", help="The period columns."
)
_CLOSED = click.option("--closed", help="Which ends belong to the periods: left (default), right, both, neither.")
_OPEN_END = click.option("--open-end", multiple=True, help="An end that means 'until further notice', as null does.")


def _forest(path: str) -> Any:
    from timeloom.stab_forest.forest import StabForest

    return StabForest.load(path)


def _rows(path: str, given: dict[str, Any], *periods: Period) -> Any:
    """The rows of a table that an index takes; all of them must have times."""
    reading = Reading.of(given)
    rows, _ = readable(reading.table(path), periods, reading.dates, path, policy=None)
    reading.require_typed({path: rows})
    refuse_texts({path: rows}, list(periods))
    return rows


command = click.Group(
    "index",
    help="Indexes in files: which rows are active at an instant, or were believed then, without reading the table.\n\n"
    "A file that ends with .index or .idx may stand where commands take a table, also in queries.",
    short_help="Build an index of a table's periods, ask it, let it grow",
    callback=show_help,
    **ALONE,
)


@with_debug
@with_reading
@command.command("build", short_help="Index the periods of a table")
@click.argument("table")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the index.")
@click.option("--payload", is_flag=True, help="Carry the table's rows, so that queries return them.")
@_PERIOD
@_CLOSED
@_OPEN_END
def build(
    table: str, output: str, payload: bool, period: str, closed: str | None, open_end: tuple[str, ...], **given: Any
) -> None:
    """Index the periods of a table; the ids of events are row numbers, from 0."""
    from timeloom.stab_forest.forest import StabForest

    columns = parse_period("period", period, closed, open_end)
    with working(f"indexing {table} → {output}"):
        rows = _rows(table, given, columns)
        forest = StabForest.build(rows, period=columns, order="start", payload=rows if payload else None)
        forest.save(output)
    say(f"{len(forest):,} events to {output}")


@with_debug
@with_reading
@command.command("history", short_help="Index a history with two periods")
@click.argument("table")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the index.")
@click.option("--sys-period", default="sys_start,sys_end", show_default=True, metavar="START,END", help="System time.")
@click.option("--app-period", default="app_start,app_end", show_default=True, metavar="START,END", help="Valid time.")
@click.option("--present", is_flag=True, help="Keep what is believed now only, and forget what was before.")
@_OPEN_END
def history(
    table: str, output: str, sys_period: str, app_period: str, present: bool, open_end: tuple[str, ...], **given: Any
) -> None:
    """Index the versions of a bitemporal history, for as-of, sliding-windows and queries."""
    from timeloom.bitemporal.index import BitemporalIndex

    sys = parse_period("sys-period", sys_period, None, open_end)
    app = parse_period("app-period", app_period, None, open_end)
    with working(f"indexing {table} → {output}"):
        rows = _rows(table, given, sys, app)
        BitemporalIndex(rows, sys_period=sys, app_period=app, retroactive=not present).save(output)
    say(f"{rows.num_rows:,} versions to {output}")


@with_debug
@command.command("info", short_help="Describe an index")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(file: str, as_json: bool) -> None:
    """Check an index and say what it holds."""
    from timeloom.pipeline.tables.indexes import load_index

    facts = load_index(file).describe()
    if as_json:
        click.echo(json.dumps(facts, default=str))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {value}")


@with_debug
@command.command("stab", short_help="The events active at an instant, or at any of several")
@click.argument("file")
@click.option("--at", required=True, metavar="VALUE,…", help="The instants, in the index's own type.")
@_OUTPUT
def stab(file: str, at: str, output: str) -> None:
    """Write the events that are active at any of the instants: their rows, or id, start and end."""
    forest = _forest(file)
    _write(forest.rows(sorted(forest.multi_stab(_instants(forest, at)).tolist())), output)


@with_debug
@command.command("window", short_help="The events active at any time of a window")
@click.argument("file")
@click.option("--from", "begin", required=True, metavar="VALUE", help="Where the window begins.")
@click.option("--to", "end", metavar="VALUE", help="The first instant behind the window; without it there is no end.")
@_OUTPUT
def window(file: str, begin: str, end: str | None, output: str) -> None:
    """Write the events that are active at some time within a window: their rows, or id, start and end."""
    forest = _forest(file)
    found = forest.overlapping(parse_value(begin), None if end is None else parse_value(end))
    _write(forest.rows(sorted(found.tolist())), output)


@with_debug
@command.command("count", short_help="How many events are active at each of some instants")
@click.argument("file")
@click.option("--at", required=True, metavar="VALUE,…", help="The instants, in the index's own type.")
@_OUTPUT
def count(file: str, at: str, output: str) -> None:
    """Write each instant and how many events are active then."""
    import pyarrow as pa

    forest = _forest(file)
    instants = _instants(forest, at)
    _write(pa.table({"at": instants, "count": forest.count_many(instants)}), output)


@with_debug
@with_reading
@command.command("append", short_help="Add the periods of a table to an index")
@click.argument("file")
@click.argument("table")
@_PERIOD
@_CLOSED
@_OPEN_END
def append(file: str, table: str, period: str, closed: str | None, open_end: tuple[str, ...], **given: Any) -> None:
    """Add the events of a table, none of which may start before the last one; only they are written, to a log.

    To an index of a history its periods are known; no version may begin before the latest system time.
    """
    from timeloom.bitemporal.index import BitemporalIndex
    from timeloom.pipeline.tables.indexes import load_index

    index = load_index(file)
    if isinstance(index, BitemporalIndex):
        with working(f"{table} → {file}"):
            index.append(rows := _rows(table, given, index.sys_period, index.app_period))
            index.save(file)
        say(f"{rows.num_rows:,} versions to {file}, which holds {len(index):,}")
        return
    columns = parse_period("period", period, closed, open_end)
    with working(f"{table} → {file}"):
        forest, rows = index, _rows(table, given, columns)
        forest.extend(
            rows.sort_by(columns.start), period=columns, payload=_carried(forest, rows.sort_by(columns.start))
        )
        forest.save(file, incremental=True)
    say(f"{rows.num_rows:,} events to {file}, which holds {len(forest):,}")


@with_debug
@command.command("forget", short_help="Drop the events that have ended")
@click.argument("file")
@click.option("--before", required=True, metavar="VALUE", help="Events that have ended by this instant are dropped.")
def forget(file: str, before: str) -> None:
    """Drop the events that have ended by an instant, and write the index anew."""
    with working(f"forgetting in {file}"):
        forest = _forest(file)
        dropped = forest.forget(before=parse_value(before))
        forest.save(file)
    say(f"{dropped:,} events forgotten; {file} holds {len(forest):,}")


def _carried(forest: Any, rows: Any) -> Any:
    """The rows to add, if the index carries rows."""
    return rows if forest.carries else None


def _instants(forest: Any, text: str) -> Any:
    """Several instants with commas between, as an array of the index's axis; as they are if it has none yet."""
    import numpy as np
    import pyarrow as pa

    from timeloom.stab_forest.instants import one_tick

    value = parse_value(text)
    values = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        values = [part.strip() for part in value.split(",")]
    with forest.__timeloom_index__() as events:
        kind = events.kind
    if kind is None:
        return pa.array(values)
    return kind.to_arrow(np.array([one_tick(value, kind, "--at") for value in values], np.int64))


def _write(table: Any, output: str) -> None:
    from timeloom.cli.results import Target

    written = Target.of(output, Reading()).write(table.to_batches(), table.schema)
    if output != "-":
        say(f"{written:,} rows to {output}")
