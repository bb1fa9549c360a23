"""The page of a run: results first, everything escaped, nothing from elsewhere."""

import re
from html.parser import HTMLParser

import pytest

from report.pages import PAGES, whole
from timeloom.report.page import page, shares


class Tags(HTMLParser):
    """Collects tags and their attributes, and sees that all are closed."""

    void = frozenset({"meta", "br", "rect", "path", "img"})

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.void:
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_whole_and_need_nothing_else(name):
    text = page(PAGES[name]())
    tags = Tags(text)
    assert tags.open == []
    assert {tag for tag, _ in tags.found} & {"script", "link", "img", "iframe"} == set()
    assert all(attrs["href"].startswith("#") for _, attrs in tags.found if "href" in attrs)
    assert not any("src" in attrs for _, attrs in tags.found)
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<style>.*?</style>", "", text, flags=re.S))


def test_results_come_first_and_plans_are_folded_away():
    text = page(whole())
    order = [text.index(words) for words in ("12.5 s", "Results", "Guests in the house", "accounted for")]
    order += [text.index(words) for words in ("Where the time went", "How it was computed", "forward_scan")]
    assert order == sorted(order)
    assert "<details open" not in text
    assert "1,010 read = 1,000 used" in text
    assert "8 × end is before start" in text


def test_whatever_texts_hold_is_escaped():
    text = page(PAGES["failed"]())
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "outputs are as they were" in text
    assert "✗ rows are missing" in text


def test_a_stream_tells_of_refused_events_and_of_what_is_held_back():
    text = page(PAGES["stream"]())
    for words in (
        "2 refused events, each with its reason",
        "held back",
        "lag (s)",
        "60.0",
        "late: its instant",
        "200 events",
    ):
        assert words in text
    assert "every event" not in text  # sides are not told apart by what Spark counts


def test_the_time_is_accounted_for():
    parts = shares(whole())
    assert sum(part["share"] for part in parts) == pytest.approx(100)
    assert sum(part["seconds"] for part in parts) == pytest.approx(12.5)
    assert [part["name"] for part in parts][:2] == ["pairs", "guests"]
    assert parts[-1]["name"] == "starting and ending"
