"""Where the paths of a file lead."""

import os
from pathlib import Path


def absolute(base: Path, path: str) -> str:
    """A path of a file as an absolute one; addresses with a scheme stay as they are.

    Shells leave ``~name`` alone if there is no such user, and so does this.
    """
    return path if "://" in path else os.path.abspath(base / os.path.expanduser(path))


def relative(base: Path, place: str) -> str:
    """A place as seen from a directory; addresses with a scheme stay as they are."""
    return place if "://" in place else os.path.relpath(place, base)


def address_of(place: str) -> str:
    """A place as Spark names it."""
    return place if "://" in place else Path(place).as_uri()
