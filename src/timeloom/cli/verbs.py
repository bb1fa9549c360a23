"""One command for each verb, made from its signature and its docstring."""

import inspect
import time
from collections.abc import Callable
from typing import Any

import click

from timeloom.cli.period_texts import readable
from timeloom.cli.reading import Reading, reading_options, refuse_texts
from timeloom.cli.results import Inputs, Target, write_result
from timeloom.cli.screen import say, working
from timeloom.cli.state import FAULTY, debug_option
from timeloom.cli.texts import dashed, parse_extra, parse_option
from timeloom.errors import UsageError
from timeloom.model.period import Period
from timeloom.operators.registry import Verb, verbs
from timeloom.pipeline.definition.signatures import Kind, Option, options_of, summary_of

HIDDEN = ("batches",)
"""Options that the command decides itself: results are streamed whenever the verb can."""

INSTANTS = ("at", "right_at")
"""Options that name columns of instants, in verbs that take no periods."""


def command_names() -> list[str]:
    """The commands that verbs become."""
    return [dashed(name) for name in verbs()]


def verb_command(name: str) -> click.Command | None:
    """Make the command of a verb, or None if there is no such verb."""
    found = verbs().get(name.replace("-", "_"))
    if found is None:
        return None

    def run(**given: Any) -> None:
        run_verb(found, given)

    outputs = [
        click.Option(["-o", "--output"], default="-", metavar="FILE", help="Where to write; - is the screen."),
        click.Option(["--rejected"], metavar="FILE", help="Where to write invalid rows, with the reason of each."),
    ]
    return make_command(found, run, outputs)


def make_command(verb: Verb, run: Callable[..., None], more: list[click.Option]) -> click.Command:
    """Make a command that takes a verb's tables and options."""
    parameters: list[click.Parameter] = [
        click.Argument([name], metavar=name.upper(), required=name in verb.required) for name in verb.inputs
    ]
    options = [option for option in options_of(verb) if option.name not in HIDDEN]
    parameters += [_click_option(option) for option in options]
    if any(option.kind is Kind.PERIOD for option in options):
        parameters += [
            click.Option(["--closed"], help="Which ends belong to the periods: left (default), right, both, neither."),
            click.Option(["--open-end"], multiple=True, help="An end that means 'until further notice', as null does."),
        ]
    parameters += [
        click.Option(["--option", "extra"], multiple=True, metavar="NAME=JSON", help="Any option, as JSON."),
        *reading_options(),
        *more,
        debug_option(),
    ]
    about = (inspect.getdoc(verb.function) or "").partition("\nParameters\n")[0].replace("``", "")
    if verb.finds_faults:
        about = f"{about.rstrip()}\n\nThe exit code is {FAULTY} if there are faults, and 0 if all is well."
    return click.Command(
        dashed(verb.name), callback=run, params=parameters, help=about, short_help=summary_of(verb).rstrip(".")
    )


def _click_option(option: Option) -> click.Option:
    names = [f"--{dashed(option.name)}", option.name]
    settings: dict[str, Any] = {"help": option.help}
    if option.default not in (None, False, ()) and not option.required:
        default = option.default
        shown = ",".join(map(str, default)) if isinstance(default, tuple | list) else str(default)
        settings["help"] = f"{option.help} [default: {shown}]".strip()
    if option.kind is Kind.FLAG and option.choices:
        words = click.Choice(["true", "false", *option.choices])
        return click.Option(names, type=words, is_flag=False, flag_value="true", **settings)
    if option.kind is Kind.FLAG:
        return click.Option(
            [f"--{dashed(option.name)}/--no-{dashed(option.name)}", option.name], default=None, **settings
        )
    if option.kind in (Kind.INTEGER, Kind.NUMBER):
        kind = click.INT if option.kind is Kind.INTEGER else click.FLOAT
        return click.Option(names, type=kind, **settings)
    if option.kind is Kind.CHOICE:
        return click.Option(names, type=click.Choice(option.choices), **settings)
    if option.kind is Kind.MAPPING and option.name.endswith("s"):
        names.insert(1, f"--{dashed(option.name)[:-1]}")
    return click.Option(names, multiple=True, metavar=_metavar(option.kind), **settings)


def _metavar(kind: Kind) -> str:
    shapes = {
        Kind.NAMES: "NAME,…",
        Kind.CHOICES: "WORD[,WORD]",
        Kind.PERIOD: "START,END",
        Kind.SLIDE: "START,RANGE,SLIDE",
        Kind.MAPPING: "NAME=[COLUMN:]FUNCTION",
        Kind.TUPLE: "A,B",
        Kind.SPAN: "SPAN",
        Kind.RELATION: "RELATION",
        Kind.VALUE: "VALUE,…",
    }
    return shapes.get(kind, "TEXT")


def call_values(verb: Verb, given: dict[str, Any]) -> dict[str, Any]:
    """Turn the options of a command into the keyword arguments of the verb; what was not given is left out."""
    closed, open_end = given.get("closed"), given.get("open_end") or ()
    known = {option.name: option for option in options_of(verb) if option.name not in HIDDEN}
    values: dict[str, Any] = {}
    for name, option in known.items():
        value = given.get(name)
        if value is None or value == ():
            if option.kind is Kind.PERIOD and option.default and (closed or open_end):
                values[name] = parse_option(option, (",".join(option.default),), closed, open_end)
            continue
        values[name] = parse_option(option, value, closed, open_end) if isinstance(value, tuple) else value
        if option.kind is Kind.FLAG and isinstance(value, str):
            values[name] = {"true": True, "false": False}.get(value, value)
    values.update(parse_extra(given["extra"], known))
    for name, option in known.items():
        if option.kind is Kind.PERIOD and isinstance(values.get(name), dict):
            values[name] = Period.of(values[name])
        if option.required and name not in values:
            raise UsageError(f"--{dashed(name)} is missing; {dashed(verb.name)} needs it ({option.kind.value})")
    return values


def periods_of(verb: Verb, values: dict[str, Any]) -> list[Period]:
    """The periods of a call whose columns hold one time each; instants are periods of one column."""
    found = []
    for option in options_of(verb):
        given = values.get(option.name, option.default)
        if given and (option.kind is Kind.PERIOD or (option.kind is Kind.TEXT and option.name in INSTANTS)):
            found.append(Period.of(given))
    return [period for period in found if period.form == "plain"]


def read_inputs(verb: Verb, given: dict[str, Any], values: dict[str, Any]) -> Inputs:
    """Read the tables and indexes that a command names; a file named twice is read once."""
    from timeloom.pipeline.formats.registry import is_index_file
    from timeloom.pipeline.tables.indexes import load_index

    seen: dict[str, Any] = {}
    unread: dict[str, Any] = {}
    reading, periods = Reading.of(given), periods_of(verb, values)
    policy = values.get("on_invalid", "error") if any(o.name == "on_invalid" for o in options_of(verb)) else None

    def load(path: str) -> Any:
        if is_index_file(path):
            return load_index(path)
        table, unread[path] = readable(reading.table(path), periods, reading.dates, path, policy)
        return table

    paths = [given[name] for name in verb.inputs if given[name] is not None]
    for path in dict.fromkeys(paths):
        with working(f"reading {path}"):
            seen[path] = load(path)
    reading.require_typed(seen)
    refuse_texts(seen, periods)
    return Inputs([seen[path] for path in paths], [unread.get(path) for path in paths])


def run_verb(verb: Verb, given: dict[str, Any]) -> None:
    """Read the tables, call the verb, write its result."""
    values, reading = call_values(verb, given), Reading.of(given)
    output = Target.of(given["output"], reading)
    rejected = Target.of(given["rejected"], reading) if given["rejected"] else None
    if rejected:
        values.setdefault("on_invalid", "quarantine")
    elif values.get("on_invalid") == "quarantine":
        raise UsageError("--on-invalid quarantine needs --rejected FILE, where the invalid rows go")
    begun = time.perf_counter()
    inputs = read_inputs(verb, given, values)
    with working(f"{dashed(verb.name)} → {output.path}"):
        written = write_result(verb, inputs, values, output, rejected)
    if output.path != "-":
        say(f"{written.rows:,} rows to {output.path} in {time.perf_counter() - begun:.2f} s")
    if rejected:
        say(f"{written.rejected:,} invalid rows to {rejected.path}")
    if verb.finds_faults and written.rows:
        raise click.exceptions.Exit(FAULTY)
