"""The documentation is true: examples print what they show, files are sound, links lead somewhere."""

import re
import shlex
import subprocess
import sys

import pytest
import yaml

from pages import PAGES, PICTURES, ROOT, blocks, content, named, needs_spark, pictures_shown, programs, run
from timeloom.cli.main import program
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.streams.check import load_file

SECRETS = {"DB_PASSWORD": "hush"}
"""The variables that pipelines of the documentation name."""

PATH_ROOTS = (ROOT, ROOT / "src/timeloom", ROOT / "src/timeloom/engines/spark")
"""Where the paths that pages name begin: the repository, the package, and for the pages on Spark its engine."""

PAST = ("CHANGELOG.md",)
"""Pages that speak of what was."""

WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
LOCAL = [page for page in WITH_PYTHON if not needs_spark(page)]


@pytest.mark.parametrize("page", LOCAL, ids=named)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, {})
    for picture in tmp_path.glob("*.svg"):
        assert picture.name in pictures_shown(page), f"{picture.name} is made and not shown"
        assert content(picture) == content(PICTURES / picture.name), f"{picture.name} is stale: make pictures"


def test_every_picture_is_made_by_the_page_that_shows_it():
    """A page that shows a picture saves it; a front page may show it, too. No other picture is kept."""
    made = {picture for page in PAGES for block in blocks(page, "python") for picture in re.findall(r"\w+\.svg", block)}
    shown = {picture for page in PAGES for picture in pictures_shown(page)}
    assert {file.name for file in PICTURES.glob("*")} == shown
    assert shown <= made


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.parametrize("page", [page for page in PAGES if programs(page)], ids=named)
def test_programs_run_by_themselves(page, tmp_path):
    """As a newcomer runs them: in a shell that knows nothing of the environment, by its Python alone."""
    for name, text, printed in programs(page):
        (tmp_path / name).write_text(text)
        plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
        command = [sys.executable, name]
        answer = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, text=True, check=False)
        assert (answer.returncode, answer.stdout) == (0, printed), answer.stderr


@pytest.mark.spark
def test_the_python_of_pages_on_spark_runs(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pages = [page for page in WITH_PYTHON if needs_spark(page)]
    assert pages
    for page in pages:
        session = spark.newSession()
        session.conf.set("spark.sql.shuffle.partitions", "2")  # tables of three rows
        run(page, {"spark": session})


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=named)
def test_the_files_of_a_page_are_sound(page, tmp_path):
    for number, block in enumerate(blocks(page, "yaml")):
        file = tmp_path / f"{number}.yml"
        file.write_text(block)
        load_file(str(file), Secrets(SECRETS))


def parse(words):
    """Read a command as the program would, down to the last option, and run nothing."""
    command, context = program(), None
    while True:
        if words[1:] in (["--version"], ["--help"]):
            return
        context = command.make_context(words[0], words[1:], parent=context)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if not hasattr(command, "get_command"):
            return
        _, command, rest = command.resolve_command(context, rest)
        words = [command.name, *rest]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=named)
def test_the_commands_of_a_page_are_understood(page):
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "timeloom":
            parse(words)
        elif words and words[0] == "make":
            assert words[1] in targets, line


def test_commands_named_in_the_text_exist():
    group = program()
    known = group.list_commands(None)
    for page in PAGES:
        for command in re.findall(r"`timeloom ([a-z][a-z-]*)\b", page.read_text()):
            assert command in known, f"{named(page)}: timeloom {command}"


def test_every_block_is_looked_at():
    """A block without a language is a drawing; one in a language that is not tried would go stale unseen."""
    for page in PAGES:
        languages = re.findall(r"^```(.*)$", page.read_text(), re.M)[::2]
        languages = {"python" if language.startswith("python title=") else language for language in languages}
        assert languages <= {"", "python", "yaml", "sh"}, named(page)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        found = (page.parent / place).resolve() if place else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in PAST], ids=named)
def test_paths_that_are_named_exist(page):
    for path in re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|md|yml|toml|txt|sh))`", page.read_text()):
        starts = [page.parent, *PATH_ROOTS]
        assert any((start / path).exists() for start in starts), path


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_modules_in_tables_of_folders_exist(page):
    """A row that begins with a folder names modules of that folder."""
    for folder, rest in re.findall(r"^\| `([\w/]+)/` \|(.*)$", page.read_text(), re.M):
        for module in re.findall(r"`([\w*]+\.py)`", rest):
            assert any([*(start / folder).glob(module)] for start in PATH_ROOTS), f"{folder}/{module}"


def pages_of(entries):
    """The pages that the site's navigation names."""
    for entry in entries:
        one = entry if isinstance(entry, str) else next(iter(entry.values()))
        yield from [one] if isinstance(one, str) else pages_of(one)


def test_the_site_has_every_page():
    """A page of docs/ without a place in the navigation of mkdocs.yml would fail `make docs`."""
    site = yaml.load((ROOT / "mkdocs.yml").read_text(), yaml.BaseLoader)
    wanted = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(pages_of(site["nav"])) == wanted | {"index.md", "contributing.md", "changelog.md"}


def test_pages_are_reached_from_the_first():
    """From README.md, by links, a reader comes to every page."""
    seen, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())
        ahead += [found for link in links if (found := (page.parent / link).resolve()) not in seen]
    assert {named(page) for page in PAGES} - {named(page) for page in seen} == set()
