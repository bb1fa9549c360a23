"""Pages of the documentation: their blocks of code, and the pictures that these make.

``python -m pages`` (with tests/ on the path: ``make pictures``) makes all pictures anew.
"""

import doctest
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PICTURES = ROOT / "docs" / "pictures"


def named(page: Path) -> str:
    """The page, as a test calls it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """All blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def needs_spark(page: Path) -> bool:
    """Whether a block of the page uses a session."""
    return any(re.search(r"\bspark\b", block) for block in blocks(page, "python"))


def programs(page: Path) -> list[tuple[str, str, str]]:
    """Whole programs: the name of each file, its text, and what it prints: the next block without a language."""
    fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.M | re.S)
    found = []
    for number, (language, text) in enumerate(fences):
        title = re.fullmatch(r'python title="([\w.]+)"', language)
        if title:
            printed = next(output for kind, output in fences[number:] if not kind)
            found.append((title[1], text, printed))
    return found


def run(page: Path, names: dict[str, Any]) -> None:
    """Run a page's blocks one after the other, as a reader would; those with prompts must print what they show."""
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(blocks(page, "python"), start=1):
        name = f"{named(page)}, block {number}"
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, name, str(page), 0)
            runner.run(test, out=told.append, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(block, name, "exec"), names)
    assert not told, "".join(told)


def pictures_shown(page: Path) -> set[str]:
    """The names of the pictures that a page shows."""
    return set(re.findall(r"!\[[^\]]*\]\((?:\.\./|docs/)*pictures/([\w.]+)\)", page.read_text()))


def content(picture: Path) -> Counter[str]:
    """What a picture says, however it is laid out: its words, and what each mark stands for."""
    root = ElementTree.parse(picture).getroot()
    words = [element.text or "" for element in root.iter() if element.tag.endswith("}text")]
    return Counter(words + [element.get("aria-label", "") for element in root.iter()])


def remake() -> None:
    """Run all pages that show pictures, and keep what they save."""
    PICTURES.mkdir(exist_ok=True)
    for page in (page for page in PAGES if pictures_shown(page) and blocks(page, "python") and not needs_spark(page)):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run(page, {})
            for made in Path(folder).glob("*.svg"):
                (PICTURES / made.name).write_text(made.read_text())
                print(made.name)


if __name__ == "__main__":
    remake()
