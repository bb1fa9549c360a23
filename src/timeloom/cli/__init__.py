"""The command line: every verb as a command, and the commands for pipelines."""

from timeloom.cli.main import main

__all__ = ["main"]
