"""What to do with rows whose period is invalid or empty."""

from dataclasses import dataclass
from typing import Literal

from timeloom.errors import UsageError, did_you_mean, shown

OnInvalid = Literal["error", "quarantine", "drop"]
OnEmpty = Literal["error", "drop", "point"]
Outcome = Literal["error", "quarantine", "drop", "point"]


@dataclass(frozen=True)
class Policy:
    """The user's choice for invalid rows, and for empty periods; the latter follow the former unless set."""

    on_invalid: OnInvalid = "error"
    empty: OnEmpty | None = None

    def __post_init__(self) -> None:
        known = {"on_invalid": ("error", "quarantine", "drop"), "empty": ("error", "drop", "point")}
        for option, choices in known.items():
            value = getattr(self, option)
            if not (isinstance(value, str) and value in choices) and not (option == "empty" and value is None):
                raise UsageError(f"{option}={shown(value)} is unknown. {did_you_mean(value, choices)}")

    @property
    def for_empty(self) -> Outcome:
        """What becomes of an empty period."""
        return self.empty or self.on_invalid

    @property
    def judges(self) -> bool:
        """Whether some rows must be refused or dropped, and not only be handed out beside the result."""
        return self.on_invalid != "quarantine" or self.for_empty in ("error", "drop")

    @property
    def drops(self) -> bool:
        """Whether some rows are left out, of which somebody must be told."""
        return "drop" in (self.on_invalid, self.for_empty)
