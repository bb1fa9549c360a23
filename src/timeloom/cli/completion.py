"""``timeloom completion``: what a shell needs to complete commands and options, and the answers to its questions."""

import os
from typing import Any

import click

from timeloom.cli.state import with_debug

ASKED = "_TIMELOOM_COMPLETE"
"""The variable by which a shell asks for completions."""

SHELLS = {
    "bash": 'eval "$(timeloom completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(timeloom completion zsh)"   # in ~/.zshrc',
    "fish": "timeloom completion fish | source   # in ~/.config/fish/config.fish",
}


@with_debug
@click.command(
    "completion",
    short_help="Print what makes the tab key complete commands and options",
    epilog="Put one of these lines into your shell's file: " + "; ".join(SHELLS.values()),
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script for a shell, which then completes commands, options and their values."""
    click.echo(_completer(shell, context.find_root().command).source())


def completion_asked() -> bool:
    """Whether a shell, not a user, has called the program."""
    return ASKED in os.environ


def complete(group: click.Command) -> int:
    """Answer a shell."""
    shell, _, _ = os.environ[ASKED].partition("_complete")
    if shell not in SHELLS:
        return 2
    click.echo(_completer(shell, group).complete())
    return 0


def _completer(shell: str, group: click.Command) -> Any:
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for {shell}")
    return found(group, {}, "timeloom", ASKED)
