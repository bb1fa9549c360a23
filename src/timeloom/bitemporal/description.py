"""Tables, indexes and windows in a few words: for prompts, notebooks and the command line."""

from typing import Any

from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.snapshot import Snapshot
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import MIN_TICK

SHOWN = 8
"""So many row numbers are listed; more are counted."""


def counted(number: int, thing: str) -> str:
    """A number and what is counted.

    >>> counted(1, "version"), counted(1200, "version")
    ('1 version', '1,200 versions')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(rows: Ticks) -> str:
    """Row numbers: all of a few, else the first ones and how many there are."""
    if rows.size <= SHOWN:
        return str(rows.tolist())
    return f"[{', '.join(map(str, rows[:SHOWN].tolist()))}, … {rows.size:,} rows]"


def in_a_line(name: str, count: int, thing: str, facts: dict[str, Any]) -> str:
    """An object as a prompt shows it; what is not known yet is left out."""
    known = (f"{key.replace(' ', '_')}={value}" for key, value in facts.items() if value is not None)
    return f"{name}({', '.join([counted(count, thing) if count else 'empty', *known])})"


def table_facts(state: Chronicle, *, without_overlaps: bool) -> dict[str, Any]:
    """What there is to say of a bitemporal table, in one state."""
    layout = state.layout
    return {
        "versions": f"{len(state):,}",
        "key": ", ".join(layout.key),
        "columns": ", ".join(name for name in layout.attributes if name not in layout.key),
        "latest": None if layout.sys_type is None else layout.sys_instant(state.latest),
        "without overlaps": without_overlaps,
    }


def index_facts(now: Snapshot) -> dict[str, Any]:
    """What an index holds, in one state."""
    kinds = ("", "") if now.types is None else tuple(kind.axis.value for kind in now.types)
    return {
        "rows": now.numbers.total,
        "held": len(now.lines.columns),
        "retroactive": now.lines.retroactive,
        "system time": kinds[0],
        "application time": kinds[1],
        "latest": None if now.types is None or now.latest == MIN_TICK else now.instant(now.latest, 0),
        "checkpoints": len(now.lines.checkpoints),
        "columns": [] if now.schema is None else list(now.schema.names),
        "bytes": now.lines.nbytes,
    }
