"""What the user sees while work goes on: a live line on a terminal, plain lines elsewhere. All on standard error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on a terminal that something is going on, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


def say(text: str) -> None:
    """Write one plain line."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
