"""What the user sees while work goes on: a live line on a terminal, plain lines elsewhere. All on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _live_line() -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        yield line


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on a terminal that something is going on, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    with _live_line() as line:
        line.add_task(text, total=None)
        yield


@contextmanager
def bar(text: str, steps: int) -> Iterator[Callable[[str], None]]:
    """Show on a terminal how much of some steps is done; call what is given before each step, with its name."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task(text, total=steps, completed=-1)
        yield lambda step: line.update(task, description=f"{text}: {step}", advance=1)


class Lines:
    """Tells of a pipeline's parts in plain lines, as they end."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self.mask = mask

    def begin(self, text: str) -> None:
        """Something has begun; a line comes when it ends."""

    def go_on(self, text: str) -> None:
        """It goes on, and this is where it stands."""
        say(self.mask(text))

    def end(self, text: str) -> None:
        """It has ended."""
        say(self.mask(text))


class Live(Lines):
    """Shows the part that is at work in a live line."""

    def __init__(self, mask: Callable[[str], str], line: Any) -> None:
        super().__init__(mask)
        self.line = line
        self.task: Any = None

    def begin(self, text: str) -> None:
        """Something has begun."""
        self.task = self.line.add_task(self.mask(text), total=None)

    def go_on(self, text: str) -> None:
        """It goes on, and this is where it stands."""
        self.line.update(self.task, description=self.mask(text))

    def end(self, text: str) -> None:
        """It has ended."""
        self.line.remove_task(self.task)
        self.line.console.print("✓ " + self.mask(text), style="green", markup=False, highlight=False)


@contextmanager
def progress(mask: Callable[[str], str]) -> Iterator[Lines]:
    """Show the progress of a pipeline."""
    if not sys.stderr.isatty():
        yield Lines(mask)
        return
    with _live_line() as line:
        yield Live(mask, line)


def say(text: str) -> None:
    """Write one plain line."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
