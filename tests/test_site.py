"""The documentation site: its reference has every public name, and its checker sees what is wrong with a page."""

import importlib.util
import re
import sys

import pytest

import timeloom as tl
from pages import ROOT


def script(name):
    """A module of scripts/site, which is no package."""
    path = ROOT / "scripts/site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"site_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_described_on_one_page():
    texts = [text for _, text in script("reference").pages().values()]
    shown = [name for text in texts for name in re.findall(r"^::: timeloom\.(?!streaming\.)[\w.]*?(\w+)$", text, re.M)]
    assert sorted(shown) == list(tl.__all__)


def test_the_overview_has_a_sentence_for_every_name():
    overview = script("reference").overview()
    rows = [line for line in overview.splitlines() if line.startswith("| [")]
    assert len(rows) == len(tl.__all__)
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<a href="there.html">x</a>', "there.html leads nowhere"),
        ('<a href="other.html#nothing">x</a>', "#nothing leads nowhere"),
        ('<img src="missing.svg">', "missing.svg leads nowhere"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', "loads //fonts.example/x.css"),
    ],
)
def test_pages_that_lead_nowhere_or_load_from_elsewhere_are_found(tmp_path, body, words):
    (tmp_path / "index.html").write_text(f"<body>{body}</body>")
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (fault,) = script("check").faults(tmp_path)
    assert words in fault


def test_a_sound_page_has_no_fault(tmp_path):
    links = '<a href="other.html#here">x</a><a href="https://example.org">elsewhere</a><a href="#top" id="top">x</a>'
    (tmp_path / "index.html").write_text(f'<link rel="canonical" href="https://example.org/">{links}')
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    assert script("check").faults(tmp_path) == []
    (tmp_path / "x.css").write_text("@import url(https://fonts.example/x.css)")
    assert len(script("check").faults(tmp_path)) == 1
