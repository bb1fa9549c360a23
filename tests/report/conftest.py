"""Tests that look at pages need a browser; where there is none they are not counted, and it is said how to get one."""

import os
import shutil
from importlib.util import find_spec

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOW = "no browser was found: apt-get install chromium, or set TIMELOOM_BROWSER to its path; then: make browser"


def browser_path():
    return os.environ.get("TIMELOOM_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)


def pytest_collection_modifyitems(config, items):
    if browser_path() and find_spec("playwright"):
        return
    looking = [item for item in items if item.get_closest_marker("browser")]
    if looking:
        config.hook.pytest_deselected(items=looking)
        items[:] = [item for item in items if item not in looking]
        config.stash[_TOLD] = HOW


_TOLD = pytest.StashKey[str]()


def pytest_terminal_summary(terminalreporter, config):
    if _TOLD in config.stash:
        terminalreporter.write_line(config.stash[_TOLD])


@pytest.fixture(scope="module")
def browser():
    """The system's browser, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        yield found
        found.close()
