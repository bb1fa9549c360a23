"""Reports as a browser shows them: at three widths, light and dark, nothing sticks out, fails, or is fetched."""

import os
from pathlib import Path

import pytest

from report.pages import PAGES
from timeloom.report.page import page

pytestmark = pytest.mark.browser

WIDTHS = (1280, 768, 400)
SHOTS = os.environ.get("TIMELOOM_SCREENSHOTS")
VIEWS = [(width, "light") for width in WIDTHS] + [(width, "dark") for width in WIDTHS[: 3 if SHOTS else 1]]

OUTSIDE = """() => [...document.querySelectorAll('main *')].filter(part => {
  const box = part.getBoundingClientRect();
  return !part.closest('.scroll, details:not([open])') && box.width && (box.right > innerWidth + 1 || box.left < -1);
}).map(part => part.outerHTML.slice(0, 120))"""

CROWDED = """() => [...document.querySelectorAll('.marks, .months, .levels')].flatMap(axis => {
  const boxes = [...axis.children].map(mark => mark.getBoundingClientRect()).filter(box => box.width);
  return boxes.filter((box, at) => boxes.some((other, beside) => beside < at && other.left < box.right
    && box.left < other.right && other.top < box.bottom - 2 && box.top < other.bottom - 2)).map(() => axis.innerText);
})"""


@pytest.mark.parametrize("name", PAGES)
def test_a_report_is_readable_everywhere(browser, tmp_path, name):
    file = tmp_path / f"{name}.html"
    file.write_text(page(PAGES[name]()), encoding="utf-8")
    for width, scheme in VIEWS:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        shown, told, asked = context.new_page(), [], []
        shown.on("console", lambda message, told=told: told.append(message.text))
        shown.on("pageerror", lambda error, told=told: told.append(str(error)))
        shown.on("request", lambda request, asked=asked: asked.append(request.url))
        shown.goto(file.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate(OUTSIDE) == []
        assert shown.evaluate(CROWDED) == []
        _check_colours(shown, scheme)
        shown.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        picture = shown.screenshot(full_page=True)
        assert picture.startswith(b"\x89PNG")
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            (Path(SHOTS) / f"{name}-{width}-{scheme}.png").write_bytes(picture)
        assert (told, asked) == ([], [file.as_uri()])
        context.close()


def _check_colours(shown, scheme):
    """Texts stand out from what they stand on, by the contrast that accessible pages have."""
    paper, ink = (
        shown.evaluate(f"getComputedStyle(document.body).{name}").removeprefix("rgb(").removesuffix(")").split(",")
        for name in ("backgroundColor", "color")
    )
    light = [sum(map(int, colour)) / 765 for colour in (paper, ink)]
    assert (light[0] > light[1]) is (scheme == "light")
    assert abs(light[0] - light[1]) > 0.6
