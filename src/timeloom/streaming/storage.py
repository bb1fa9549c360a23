"""The state of a streaming join as bytes: int64 arrays one after another, each with its shape in front."""

import numpy as np
from numpy.typing import NDArray

VERSION = 3
"""Of the layout of a stored state. A state of another version is refused, never guessed at."""


def pack(arrays: list[NDArray[np.int64]]) -> bytes:
    """Write arrays."""
    parts = []
    for array in arrays:
        parts += [np.array([array.ndim, *array.shape], np.int64), np.ascontiguousarray(array).reshape(-1)]
    return np.concatenate(parts).tobytes()


def unpack(stored: bytes) -> list[NDArray[np.int64]]:
    """Read arrays."""
    numbers = np.frombuffer(stored, np.int64)
    arrays, at = [], 0
    while at < numbers.size:
        dimensions = int(numbers[at])
        shape = tuple(numbers[at + 1 : at + 1 + dimensions].tolist())
        at += 1 + dimensions
        size = int(np.prod(shape))
        arrays.append(numbers[at : at + size].reshape(shape).copy())
        at += size
    return arrays
