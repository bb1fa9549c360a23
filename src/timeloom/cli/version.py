"""``timeloom version``."""

import click

import timeloom
from timeloom.cli.state import with_debug


@with_debug
@click.command("version", short_help="Print the version")
def command() -> None:
    """Print the version of Timeloom."""
    click.echo(f"timeloom {timeloom.__version__}")
