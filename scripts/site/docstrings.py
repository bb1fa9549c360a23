"""Docstrings as the reference shows them: sections of numpydoc as Markdown, sessions of the interpreter as code."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
ITEMS = ("Parameters", "Attributes", "Raises", "Methods")


class Docstrings(griffe.Extension):
    """Hands each docstring over as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring where it stands."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring in numpydoc as Markdown."""
    head, *rest = SECTION.split(re.sub(r"::$", ":", text, flags=re.M))
    parts = [with_sessions(head)]
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        shown = described(body) if name in ITEMS else body
        parts.append(f"**{name}**\n\n{with_sessions(shown)}")
    return "\n\n".join(part.strip("\n") for part in parts)


def described(body: str) -> str:
    """Names, each followed by indented lines, as a list of definitions."""
    lines = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            names = ", ".join(f"`{one.strip()}`" for one in name.split(","))
            lines += ["", names + (f": {kind}" if kind else "")]
            first = True
        elif line.strip():
            lines.append(":" + line[1:] if first else line)
            first = False
        else:
            lines.append("")
    return "\n".join(lines)


def with_sessions(text: str) -> str:
    """Text whose sessions of the interpreter, up to an empty line, are blocks of code."""
    return re.sub(
        r"^( *)>>> .*(?:\n(?!\s*$).*)*",
        lambda found: f"```pycon\n{_outdented(found[0], len(found[1]))}\n```",
        text,
        flags=re.M,
    )


def _outdented(block: str, by: int) -> str:
    return "\n".join(line[by:] for line in block.splitlines())
