"""What the site adds to the pages of docs/: the front page and pages of the root, and links among all of them."""

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import reference  # beside this file, which mkdocs loads by its path

ROOT = Path(__file__).parents[2]
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages that stand in the root of the repository, and where they are on the site."""

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Take the pages of the root in, and those of the reference."""
    for place, (_, text) in reference.pages().items():
        files.append(File.generated(config, place, content=text))
    for page, place in FROM_ROOT.items():
        files.append(File.generated(config, place, content=(ROOT / page).read_text()))
    return files


def on_config(config: Any) -> Any:
    """Put the pages of the reference into the navigation, where it says so."""
    for section in config["nav"]:
        if "Reference" in section:
            section["Reference"] += [{title: place} for place, (title, _) in reference.pages().items()]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to where their targets are on the site; sessions of the interpreter are coloured as such."""
    place = page.file.src_uri
    if place == "api/README.md":
        markdown += "\n" + reference.overview()
    source = {there: here for here, there in FROM_ROOT.items()}.get(place, f"docs/{place}")
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    parts[::2] = [LINK.sub(lambda found: _led(found, source, place), part) for part in parts[::2]]
    parts[1::2] = [part.replace("```python\n>>>", "```pycon\n>>>", 1) for part in parts[1::2]]
    return "".join(parts)


def _led(link: "re.Match[str]", source: str, place: str) -> str:
    text, target = link[1], link[2]
    if re.match(r"[a-z]+:|#", target):
        return link[0]
    path, mark, anchor = target.partition("#")
    found = os.path.normpath(PurePosixPath(source).parent / path)
    there = FROM_ROOT.get(found, found.removeprefix("docs/"))
    if found not in FROM_ROOT and not found.startswith("docs/"):
        return text  # a file of the repository that is no page
    return f"[{text}]({os.path.relpath(there, PurePosixPath(place).parent)}{mark}{anchor})"
