"""Faults of a pipeline file: what is wrong, and where."""

from collections.abc import Iterable
from dataclasses import dataclass

from timeloom.errors import TimeloomError


@dataclass(frozen=True, order=True)
class Fault:
    """One fault, with the line and the column (from 1) at which it stands."""

    line: int
    column: int
    where: str
    message: str

    def shown(self, file: str) -> str:
        """The fault in one line, in the form that editors can jump to."""
        place = f"{file}:{self.line}:{self.column}: "
        return place + (f"{self.where}: {self.message}" if self.where else self.message)


class PipelineError(TimeloomError, ValueError):
    """A pipeline file that cannot be run; ``faults`` has all that was found."""

    def __init__(self, file: str, faults: Iterable[Fault]) -> None:
        self.file = file
        self.faults = sorted(set(faults))
        count = len(self.faults)
        shown = "; ".join(fault.shown(file) for fault in self.faults[:3])
        more = f"; and {count - 3} more (timeloom validate lists them)" if count > 3 else ""
        super().__init__(f"{count} fault{'s' if count > 1 else ''}: {shown}{more}")


def one_line(error: BaseException | str) -> str:
    """The message of an error, without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
