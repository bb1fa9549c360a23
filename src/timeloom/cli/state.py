"""What all commands share: exit codes, whether to show tracebacks, and which texts must never be shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

import timeloom

FAILED, MISUSED, FAULTY, INTERRUPTED, PIPE_CLOSED, TERMINATED = 1, 2, 3, 130, 141, 143
"""Exit codes: why a call did not do what was asked, or, of a check that did, that the table has faults."""


def _unmasked(text: str) -> str:
    return text


@dataclass
class State:
    """The state of one call of the program."""

    debug: bool = False
    mask: Callable[[str], str] = _unmasked


ALONE: dict[str, Any] = {"no_args_is_help": False, "invoke_without_command": True}
"""The settings of a group of commands that may be called without one, and then shows its help."""


@click.pass_context
def show_help(context: click.Context) -> None:
    """A group of commands that is asked for nothing tells what it can do."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def debug_option() -> click.Option:
    """The option ``--debug``, which every command takes."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(State).debug = True

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=remember, help="Show the traceback of an error."
    )


def version_option() -> click.Option:
    """The option ``--version``, which prints the version and ends."""

    def tell(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"timeloom {timeloom.__version__}")
            context.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=tell, help="Print the version."
    )


def with_debug(command: Any) -> Any:
    """Give a command the option ``--debug``."""
    command.params.append(debug_option())
    return command
