"""Handles of open events."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Handle:
    """An event that has begun and can be finished once, by the forest that began it."""

    id: int
    start: int
    owner: object = field(repr=False)
