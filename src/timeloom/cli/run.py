"""``timeloom run``."""

import click


@click.command("run")
def command() -> None:
    """Later."""
