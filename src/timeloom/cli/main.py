"""The program ``timeloom``: its commands, its exit codes, and how errors look.

Exit codes: 0 done; 1 data that cannot be used, or a run that failed; 2 a call that cannot mean anything; 3 a table that
was checked has faults; 130 interrupted; 141 the reader of the output went away; 143 asked to end.
"""

import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from timeloom.cli.completion import complete, completion_asked
from timeloom.cli.screen import say
from timeloom.cli.state import (
    ALONE,
    FAILED,
    INTERRUPTED,
    MISUSED,
    PIPE_CLOSED,
    TERMINATED,
    State,
    debug_option,
    show_help,
    version_option,
)
from timeloom.errors import DroppedRowsWarning, TimeloomError, UsageError, did_you_mean
from timeloom.pipeline.signals import Terminated, terminable

_POINTED = re.compile(r"\n *\^\s*$")
"""A message that shows a line, and points to where it went wrong."""

_POLICY = re.compile(r"\b(on_invalid|empty)='(\w+)'")
"""The options about unfit rows, as messages name them."""

EPILOG = (
    "Tables are CSV, TSV, JSON, Parquet, Arrow or ORC files, or directories of them, told apart by their suffixes or "
    "by --format; - stands for standard input or output. "
    "timeloom completion SHELL prints what makes the tab key complete commands and options. "
    "Exit codes: 0 done, 1 data or run error, 2 usage error, 3 check found faults, 130 interrupted, 141 output closed, "
    "143 ended on request."
)


class Commands(click.Group):
    """The commands for pipelines, and one command for each verb of the registry."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Name all commands, verbs first."""
        from timeloom.cli.verbs import command_names

        return [*command_names(), *sorted(self.commands)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Find a command; a verb's is made from its signature."""
        from timeloom.cli.verbs import verb_command

        return self.commands.get(name) or verb_command(name)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Find the command that the arguments begin with, or say which comes closest."""
        if args and not args[0].startswith("-") and self.get_command(context, args[0]) is None:
            hint = did_you_mean(args[0], self.list_commands(context))
            raise click.UsageError(f"there is no command {args[0]!r}. {hint}", context)
        return super().resolve_command(context, args)


def program() -> Commands:
    """Put the program together."""
    from timeloom.cli import completion, explain, index, plot, recover, run, sql, stream, validate, version, warm

    group = Commands(
        "timeloom",
        params=[version_option(), debug_option()],
        callback=show_help,
        **ALONE,
        help="Temporal relational algebra for Spark and Arrow tables.",
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    for part in (completion, explain, index, plot, recover, run, sql, stream, validate, version, warm):
        group.add_command(part.command)
    return group


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    state = State()
    if arguments is None and completion_asked():
        return complete(program())
    with warnings.catch_warnings():
        warnings.simplefilter("always", DroppedRowsWarning)
        warnings.showwarning = _warner(state)
        try:
            group = program()
            with (
                terminable(),
                group.make_context(
                    "timeloom", list(sys.argv[1:] if arguments is None else arguments), obj=state
                ) as context,
            ):
                code = _invoked(group, context)
            sys.stdout.flush()
            return code
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except Terminated:
            say("timeloom: ended on request; nothing half-written was left behind")
            return TERMINATED
        except (click.Abort, KeyboardInterrupt):
            say("timeloom: interrupted; nothing half-written was left behind")
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        except Exception as error:
            return _fail(error, state)


def _invoked(group: Commands, context: click.Context) -> int:
    """Run the command; its exit code, which may tell of what it found."""
    try:
        group.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return 0


def _fail(error: Exception, state: State) -> int:
    if state.debug:
        say(state.mask("".join(traceback.format_exception(error))).rstrip())
    words = state.mask(_message(error, state))
    say(words.rstrip() if _POINTED.search(words) else " ".join(words.split()))
    return MISUSED if isinstance(error, UsageError | click.UsageError) else FAILED


def _message(error: Exception, state: State) -> str:
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "timeloom"
        return f"{where}: {error.format_message()} (see {where} --help)"
    if isinstance(error, TimeloomError | OSError):
        return f"timeloom: {_as_options(str(error))}"
    hint = "" if state.debug else " (--debug shows where)"
    return f"timeloom: {type(error).__name__}: {error}{hint}"


def _as_options(words: str) -> str:
    """What to do about rows, in the words of the command line."""
    return _POLICY.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", words)


def _warner(state: State) -> Any:
    """What shows warnings: one line each, without secrets."""

    def warn(message: Warning | str, *_: object, **__: object) -> None:
        say(state.mask(f"timeloom: warning: {message}"))

    return warn
