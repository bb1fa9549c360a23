"""Puts right what runs that died have left: unfinished changes of outputs are completed, staged files removed."""

import os
import re
from pathlib import Path

from timeloom.errors import StorageError
from timeloom.pipeline.definition.models import Pipeline
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.outputs.locks import Lock
from timeloom.pipeline.outputs.staging import recover_output
from timeloom.pipeline.streams.check import load_file

_TRACE = re.compile(r"\.(?P<name>.+)\.timeloom-(?:staging-|scratch-|journal|old|lock)")


def recover(place: str, secrets: Secrets | None = None) -> list[str]:
    """Put right the outputs of a pipeline file, or all outputs in a directory and below.

    Returns
    -------
    list of str
        What was done, a line for each output or file; nothing if all was well.
    """
    told = []
    for path in _outputs(place, secrets or Secrets()):
        if not path.parent.is_dir():
            continue
        try:
            lock = Lock(path)
        except StorageError as error:
            told.append(f"skipped {path}: {error}")
            continue
        try:
            told += recover_output(path)
        except OSError as error:
            raise error if isinstance(error, StorageError) else StorageError(f"{str(path)!r}: {error}") from error
        finally:
            lock.release()
    return told


def _outputs(place: str, secrets: Secrets) -> list[Path]:
    if os.path.isdir(place):
        return _traced(Path(place))
    found = load_file(place, secrets)
    if not isinstance(found, Pipeline):
        raise StorageError(f"{place!r} is a stream, which takes up its work from its checkpoint; start it again")
    places = [found.place(sink.path) for sink in found.sinks.values()]
    if found.quarantine is not None:
        places += [found.place(f"{found.quarantine.path}/{name}") for name in (*found.sources, *found.steps)]
    places += [f"{found.report_place}/{name}" for name in ("report.json", "report.html")]
    return [Path(path).resolve() for path in places]


def _traced(directory: Path) -> list[Path]:
    """The outputs beside which something was left; nothing is sought within what was left."""
    paths: dict[Path, None] = {}
    for folder, names, files in os.walk(directory.resolve()):
        for name in sorted((*names, *files)):
            trace = _TRACE.match(name)
            if trace:
                paths[Path(folder) / trace["name"]] = None
        names[:] = [name for name in names if not _TRACE.match(name)]
    return list(paths)
