"""What a run tells: meanwhile to a watcher, and in the end."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Silent:
    """A watcher that says nothing."""

    def begin(self, text: str) -> None:
        """Something has begun."""

    def end(self, text: str) -> None:
        """It has ended."""


@dataclass(frozen=True)
class Done:
    """A run that has ended well: its record, without secrets, and the page of its report."""

    record: dict[str, Any]
    page: Path
