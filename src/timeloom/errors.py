"""Every error a user can meet: what was found, what was expected, how to mend it."""

import difflib
from collections.abc import Iterable

SHOWN = 80
"""Values in messages are cut to so many characters: a table given by mistake would fill the screen."""


class TimeloomError(Exception):
    """Base of all errors that Timeloom raises on purpose."""


class UsageError(TimeloomError, TypeError):
    """A call that cannot mean anything: a wrong option, an unknown name, inputs that do not fit together."""


class InvalidInputError(TimeloomError, ValueError):
    """Data that cannot be used as they are: a missing column, null starts, reversed periods."""


class StorageError(TimeloomError, OSError):
    """A file that cannot be read or written as asked."""


class DroppedRowsWarning(UserWarning):
    """Says how many invalid rows were dropped on request, and why."""


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Say which known names come closest, or list them all when none does."""
    name = name if isinstance(name, str) else shown(name)
    names = [str(candidate) for candidate in known]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(candidate) for candidate in close) + "?"
    return "Known: " + ", ".join(names) + "."


def shown(value: object) -> str:
    """A value as text for a message, cut to a reasonable length."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
