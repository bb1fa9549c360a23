"""A directory at an address is the old one or the new one, wherever a run is killed."""

from contextlib import suppress

import pytest

from timeloom.errors import StorageError, UsageError
from timeloom.pipeline.engines.replacing import Replacement


class Killed(BaseException):
    """Nothing of the program runs after this."""


def die_before(monkeypatch, point):
    """Let the program die before a step, counted from 0."""
    left = [point]
    for name in ("_rename", "_remove"):
        step = getattr(Replacement, name)

        def dying(self, *paths, step=step):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            step(self, *paths)

        monkeypatch.setattr(Replacement, name, dying)


def write(folder, text):
    folder.mkdir(parents=True)
    (folder / "part-0").write_text(text)


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("there", "seen", "recovered"),
    [
        (True, ["old", None, "new", "new"], ["old", "new", "new", "new"]),
        (False, [None, "new", "new"], [None, "new", "new"]),
    ],
)
def test_a_run_that_is_killed_leaves_the_old_directory_or_the_next_completes_it(
    tmp_path, monkeypatch, there, seen, recovered
):
    for point in range(len(seen)):
        home = tmp_path / str(point)
        if there:
            write(home / "lake", "old")
        write(home / ".lake.timeloom/new", "new")
        with monkeypatch.context() as patched, suppress(Killed):
            die_before(patched, point)
            Replacement((home / "lake").as_uri() + "/").take_place()
        assert content(home).get("lake/part-0") == seen[point]
        Replacement((home / "lake").as_uri()).recover()
        assert content(home) == ({"lake/part-0": recovered[point]} if recovered[point] else {})


def test_a_recovery_that_is_killed_is_completed_by_another(tmp_path, monkeypatch):
    for point in range(2):
        home = tmp_path / str(point)
        write(home / ".lake.timeloom/new", "new")
        write(home / ".lake.timeloom/old", "old")
        change = Replacement((home / "lake").as_uri())
        with monkeypatch.context() as patched:
            die_before(patched, point)
            with pytest.raises(Killed):
                change.recover()
        change.recover()
        assert content(home) == {"lake/part-0": "new"}


def test_a_rename_that_fails_brings_the_old_directory_back(tmp_path, monkeypatch):
    write(tmp_path / "lake", "old")
    write(tmp_path / ".lake.timeloom/new", "new")
    change = Replacement((tmp_path / "lake").as_uri())
    rename = Replacement._rename

    def refused(self, path, to):
        if path == self.new:
            raise OSError("quota")
        rename(self, path, to)

    monkeypatch.setattr(Replacement, "_rename", refused)
    with pytest.raises(StorageError, match=r"cannot be replaced \(quota\); it is as it was"):
        change.take_place()
    change.recover()
    assert content(tmp_path) == {"lake/part-0": "old"}


def test_what_this_program_does_not_see_is_refused(tmp_path):
    with pytest.raises(StorageError, match="does not see what it wrote"):
        Replacement((tmp_path / "lake").as_uri()).take_place()
    with pytest.raises(UsageError, match="does not reach its store.*mode: append"):
        Replacement("hdfs://nowhere/lake")
