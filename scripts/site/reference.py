"""The pages of the reference: every public name of the package is on one of them."""

import json

import timeloom as tl
from timeloom import _HOME, streaming

GROUPS = {
    "joins": ("Joins and counts", "join as_of nearest temporal_join temporal_antijoin count_join top_k pattern"),
    "tables": ("One table", "temporal_aggregate depth coalesce gaps split lanes check stab"),
    "sets": ("Sets and bags", "temporal_union temporal_intersect temporal_except"),
    "periods": ("Periods and relations", "Period Relation relation allen iseql"),
    "bitemporal": ("Two times", "sliding_windows Slide BitemporalTable BitemporalIndex"),
    "indexes": ("Indexes", "StabForest KeyedForest DisjointPartitions"),
    "text": ("SQL, plans, pictures", "sql explain Explanation plot Plot install"),
    "streams": ("Streams", "stream_join stream_count stream_aggregate stream_coalesce stream_pattern"),
    "errors": (
        "Errors and rejected rows",
        "TimeloomError UsageError InvalidInputError StorageError DroppedRowsWarning Quarantined",
    ),
}
"""The pages, their titles, and the names on them; a name that is on none is on the page of other names."""

HIDDEN = "wide start_shift end_shift sentinels placed terms boxes of prepared publish again MAKERS NAMES"
"""Members that engines call, and users need not."""


def pages() -> dict[str, tuple[str, str]]:
    """The path of each page, with its title and its text."""
    groups = {page: (title, names.split()) for page, (title, names) in GROUPS.items()}
    others = [name for name in tl.__all__ if not any(name in names for _, names in groups.values())]
    if others:
        groups["others"] = ("Other names", others)
    return {f"api/{page}.md": (title, _page(page, title, names)) for page, (title, names) in groups.items()}


def overview() -> str:
    """A table of all names, each with the first sentence of its docstring."""
    rows = ["| name | |", "|---|---|"]
    for place, (_, text) in pages().items():
        names = [name for name in tl.__all__ if f"heading: tl.{name}\n" in text]
        page = place.removeprefix("api/")
        rows += [f"| [`{name}`]({page}#{_identifier(name)}) | {_first(name)} |" for name in names]
    return "\n".join([*rows[:2], *sorted(rows[2:])])


def _page(page: str, title: str, names: list[str]) -> str:
    shown = [_entry(_identifier(name), f"tl.{name}") for name in names]
    if page == "streams":
        shown += [_entry(f"timeloom.streaming.{name}", f"timeloom.streaming.{name}") for name in streaming.__all__]
    return "\n\n".join([f"# {title}", *shown])


def _entry(identifier: str, heading: str) -> str:
    options = {
        "heading": heading,
        "toc_label": heading,
        "inherited_members": "true",
        "show_if_no_docstring": "true" if heading == "tl.allen" else "false",
        "filters": json.dumps(["!^_", f"!^({'|'.join(HIDDEN.split())})$"]),
    }
    return "\n".join(
        [f"::: {identifier}", "    options:", *(f"      {key}: {value}" for key, value in options.items())]
    )


def _identifier(name: str) -> str:
    return f"timeloom.{_HOME[name]}.{name}"


def _first(name: str) -> str:
    return (
        (getattr(tl, name).__doc__ or "")
        .strip()
        .split("\n\n")[0]
        .replace("\n", " ")
        .replace("``", "`")
        .replace("|", "\\|")
    )
