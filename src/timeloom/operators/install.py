"""`install`: send the package to the workers of a Spark session."""

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.options import checked


@checked
def install(spark: Any) -> None:
    """Ship Timeloom's own code to the workers of a Spark session, classic or Connect.

    Workers need NumPy, Numba and PyArrow, and Timeloom itself. Where the package is not installed on them, call this
    once a session, before the first verb. On ``local[*]`` and where workers have the package nothing is needed.

    Parameters
    ----------
    spark
        The Spark session.

    Examples
    --------
    >>> import timeloom as tl
    >>> tl.install(None)
    Traceback (most recent call last):
    timeloom.errors.UsageError: install takes a Spark session, not NoneType
    """
    if not hasattr(type(spark), "addArtifacts"):
        raise UsageError(f"install takes a Spark session, not {type(spark).__name__}")
    folder = Path(tempfile.mkdtemp(prefix="timeloom-"))
    spark.addArtifacts(str(package_archive(folder)), pyfile=True)


def package_archive(folder: Path) -> Path:
    """Write the package's source files as a zip archive into a folder."""
    package = Path(__file__).parents[1]
    archive = folder / "timeloom.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for file in sorted(package.rglob("*.py")):
            target.write(file, file.relative_to(package.parent))
    return archive
