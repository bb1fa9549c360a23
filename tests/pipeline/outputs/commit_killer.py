"""Kills commits at each of their steps, one process for each, and tells what is found after recovery.

Started with a directory: for each step, and with and without paths that can change places at once, prints a line
of JSON with the outputs right after the kill and after the recovery.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from timeloom.pipeline.outputs import journal
from timeloom.pipeline.outputs.recovery import recover
from timeloom.pipeline.outputs.staging import Outputs

PLACES = ("a/file", "a/folder", "b/new", "b/file")
"""Two directories; a file and a folder that are replaced, a folder that is new, and one more file."""

STEPS = ("rename", "replace", "link", "unlink", "fsync", "chmod", "chown", "rmdir", "remove")


def put(place, content):
    if "file" in place.name:
        place.write_text(content)
    else:
        place.mkdir()
        (place / "part").write_text(content)


def content(place):
    if not place.exists():
        return None
    return place.read_text() if place.is_file() else "".join(sorted(part.read_text() for part in place.iterdir()))


def found(root):
    return [content(root / place) for place in PLACES]


def prepare(root):
    shutil.rmtree(root, ignore_errors=True)
    for place in PLACES:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        if "new" not in place:
            put(root / place, "old")


def commit(root, before_step):
    """Change all outputs, and call a function before each step of the commit."""
    with Outputs() as outputs:
        for place in PLACES:
            target = outputs.add(str(root / place), is_file="file" in place)
            stage(target)
        for name in STEPS:
            setattr(os, name, stepping(getattr(os, name), before_step))
        journal.exchange = stepping(journal.exchange, before_step)  # type: ignore[attr-defined]
        outputs.commit()


def stage(target):
    if target.is_file:
        target.staging.write_text("new")
    else:
        target.staging.mkdir()
        (target.staging / "part").write_text("new")


def stepping(function, before_step):
    def stepped(*given, **options):
        before_step()
        return function(*given, **options)

    return stepped


def kill_at(root, number):
    """Commit in a process that dies before a step; False if the commit has fewer steps."""
    child = os.fork()
    if child == 0:
        left = [number]

        def before_step():
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)

        commit(root, before_step)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def main(root, by_next_run):
    number = 0
    while True:
        prepare(root)
        died = kill_at(root, number)
        after_kill = found(root)
        if by_next_run:
            with Outputs() as outputs:
                outputs.add(str(root / PLACES[-1]), is_file=True)
        recover(str(root))
        left = sorted(str(path.relative_to(root)) for path in root.rglob(".*"))
        print(json.dumps({"step": number, "killed": after_kill, "recovered": found(root), "left": left}), flush=True)
        if not died:
            return
        number += 1


if __name__ == "__main__":
    if "slow" in sys.argv[2:]:
        journal.exchange = lambda one, other: False  # type: ignore[attr-defined]
    main(Path(sys.argv[1]), "run" in sys.argv[2:])
