"""How large a pipeline file may be: what it says is counted before anything is built from it."""

from collections.abc import Iterator
from typing import Any

import yaml

MOST_BYTES = 256 * 1024
MOST_DEPTH = 30
MOST_PARTS = 10_000
"""Values in a file, each alias counted as often as it stands for something."""

MOST_FAULTS = 100


class TooMuchError(ValueError):
    """A file that is beyond a limit; it knows where."""

    def __init__(self, message: str, mark: Any) -> None:
        super().__init__(message)
        self.line: int = mark.line + 1 if mark else 1
        self.column: int = mark.column + 1 if mark else 1


def check_size(text: str) -> None:
    """Refuse a text that is too long, too deep, or stands for too much once its aliases are written out.

    The text is read event by event, so nothing is built and nothing recurs.
    """
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise TooMuchError(f"the file has more than {MOST_BYTES:,} bytes; divide it", None)
    meaning: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []
    total = 0
    for event in _events(text):
        if isinstance(event, yaml.AliasEvent):
            total += meaning.get(event.anchor or "", 1)
        elif isinstance(event, yaml.NodeEvent):
            total += 1
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((event.anchor, total - 1))
            elif event.anchor:
                meaning[event.anchor] = 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor:
                meaning[anchor] = total - before
        if len(opened) > MOST_DEPTH:
            raise TooMuchError(f"parts within parts, more than {MOST_DEPTH} deep; write it flatter", event.start_mark)
        if total > MOST_PARTS:
            raise TooMuchError(
                f"more than {MOST_PARTS:,} values, with aliases written out; divide the file", event.start_mark
            )


def open_loader(text: str) -> Any:
    """A loader of plain data; that of libyaml is ten times as fast, where PyYAML has it."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)


def _events(text: str) -> Iterator[yaml.Event]:
    loader = open_loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()
