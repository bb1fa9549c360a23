"""Checks of what a file says, for files whose hash is right and whose content is not."""

from typing import Any, NoReturn

import numpy as np

from timeloom.errors import StorageError
from timeloom.model.ticks import MAX_TICK, MIN_TICK


class WrongContentError(ValueError):
    """What is stored contradicts itself; `restore` says in which file."""


def require(holds: Any, what: str) -> None:
    """Refuse the file unless a condition holds."""
    if not holds:
        refuse(what)


def refuse(what: str) -> NoReturn:
    """Refuse the file."""
    raise WrongContentError(what)


def require_int(value: Any, what: str, low: int = MIN_TICK, high: int = MAX_TICK) -> int:
    """A number of the metadata, within its bounds."""
    if type(value) is not int or not low <= value <= high:
        refuse(f"{what} is {value!r}, not an integer from {low} to {high}")
    return value


def require_vector(
    arrays: "dict[str, np.ndarray[Any, np.dtype[Any]]]", name: str, dtype: Any, size: int | None = None
) -> np.ndarray[Any, Any]:
    """An array by its name, of the type and, if given, of the size that it must have."""
    array = arrays.get(name)
    if array is None:
        refuse(f"there is no array {name!r}")
    if array.dtype != np.dtype(dtype):
        refuse(f"the array {name!r} holds {array.dtype}, not {np.dtype(dtype)}")
    if size is not None and array.size != size:
        refuse(f"the array {name!r} has {array.size} entries, not {size}")
    return array


def damaged(place: str, kind: str, error: object) -> StorageError:
    """The error for a file that cannot be believed."""
    return StorageError(
        f"{place!r} is damaged or no file of Timeloom ({error}); expected a file saved as {kind!r}: restore it or save "
        "it again"
    )
