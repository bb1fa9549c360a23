"""How objects show themselves in notebooks: plain HTML that needs no script and no style of elsewhere."""

from collections.abc import Mapping
from html import escape
from typing import Any


def fact_table(title: str, facts: Mapping[str, Any], below: str = "") -> str:
    """A small table of facts under a title; all texts are escaped but ``below``, which is HTML.

    >>> "a &lt; b" in fact_table("join", {"rows": "a < b"})
    True
    """
    cell = 'style="text-align:left"'
    rows = "".join(
        f"<tr><th {cell}>{escape(str(name))}</th><td {cell}>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table>{below}</div>"
