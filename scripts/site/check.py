"""Looks at the built site as a browser would: every link leads somewhere, and no page loads anything from elsewhere.

``python scripts/site/check.py out/site``
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}
NO_LOADING = {"canonical", "next", "prev"}
"""Kinds of links in a page's head that a browser does not follow by itself."""


class Page(HTMLParser):
    """The links and anchors of a page, and what it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what an element points to."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name, value in given.items():
            if (tag, name) in LOADED and given.get("rel") not in NO_LOADING:
                self.loads.append(value)
            elif name == "href" and tag == "a":
                self.links.append(value)


def faults(site: Path) -> list[str]:
    """What is wrong, each with its page."""
    pages = {file: Page(file) for file in sorted(site.rglob("*.html")) if file.name != "404.html"}
    found = []
    for file, page in pages.items():
        name = file.relative_to(site)
        found += [f"{name} loads {value}" for value in page.loads if urlsplit(value).netloc]
        local = [value for value in page.links + page.loads if not (urlsplit(value).scheme or urlsplit(value).netloc)]
        found += [f"{name}: {value} leads nowhere" for value in local if not _leads(file, value, pages)]
    sheets = (sheet for sheet in site.rglob("*.css"))
    return found + [f"{sheet.relative_to(site)} imports from elsewhere" for sheet in sheets if _imports(sheet)]


def _leads(file: Path, value: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(value)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors | {"__top"}


def _imports(sheet: Path) -> bool:
    text = sheet.read_text(encoding="utf-8")
    return "url(http" in text or "url(//" in text or "@import" in text


def main() -> int:
    """Print the faults."""
    site = Path(sys.argv[1]).resolve()
    found = faults(site)
    print(
        "\n".join(found) or f"{site / 'index.html'}: {len(list(site.rglob('*.html')))} pages, all links lead somewhere"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
