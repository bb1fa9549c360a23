"""``timeloom validate``."""

import click


@click.command("validate")
def command() -> None:
    """Later."""
