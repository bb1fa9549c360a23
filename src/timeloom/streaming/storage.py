"""The state of a streaming join as bytes: sealed by a hash, bound to its query, int64 arrays one after another.

A hash finds every accident. Whoever forges a state can forge the hash as well, so what the arrays say is checked too,
where they are taken up again.
"""

import hashlib
import hmac
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import StorageError

VERSION = 8
"""Of the layout of a stored state."""

SEAL = 16
"""Bytes of a hash: first that of all that follows, then that of the query."""

DIMENSIONS, FEW = 2, 16
"""Of arrays, at most; and how long an array may be in one of them without having so many numbers."""


def seal(arrays: list[NDArray[np.int64]], query: str, beside: str = "") -> bytes:
    """Write arrays for this query; ``beside`` is text that is stored elsewhere and must not change either."""
    content = mark(query) + packed(arrays).tobytes()
    return _hash(content, beside) + content


def packed(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Arrays as one, each behind its shape."""
    parts = [np.empty(0, np.int64)]
    for array in arrays:
        parts += [np.array([array.ndim, *array.shape], np.int64), np.ascontiguousarray(array, np.int64).reshape(-1)]
    return np.concatenate(parts)


def unseal(stored: bytes, query: str, beside: str = "", version: int = VERSION) -> list[NDArray[np.int64]]:
    """Read arrays that were written for this query in this version; anything else is a StorageError."""
    content = stored[SEAL:]
    if len(content) < SEAL or not hmac.compare_digest(stored[:SEAL], _hash(content, beside, version)):
        raise StorageError(
            f"a streaming state of {len(stored):,} bytes is damaged: its hash does not match its content; "
            "restore the checkpoint from a copy, or start from a new one"
        )
    if content[:SEAL] != mark(query):
        raise StorageError(
            "the streaming state is that of another query: another relation, how, delta or epsilon, other keys, types "
            "of ids, arrivals or time axis; go on with the query that began it, or start from a new checkpoint "
            f"(this query: {query})"
        )
    if (len(content) - SEAL) % 8:
        raise malformed(f"{len(content) - SEAL} bytes are no whole number of words")
    return unpacked(np.frombuffer(content[SEAL:], np.int64))


def mark(query: str) -> bytes:
    """What tells the states of one query from those of others."""
    return hashlib.blake2b(query.encode(), digest_size=SEAL).digest()


def malformed(what: str) -> StorageError:
    """The error about a state whose hash is right and whose content is not."""
    return StorageError(
        f"a streaming state is malformed: {what}; restore the checkpoint from a copy, or start from a new one"
    )


def _hash(content: bytes, beside: str, version: int = VERSION) -> bytes:
    """Over all bytes, the version and the length of both texts: none can be moved from one to the other."""
    digest = hashlib.blake2b(content, digest_size=SEAL)
    digest.update(f"{version} {len(content)} {beside}".encode())
    return digest.digest()


def unpacked(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The arrays that `packed` has put together."""
    return list(_arrays(numbers))


def _arrays(numbers: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    at = 0
    while at < numbers.size:
        dimensions = int(numbers[at])
        if not 1 <= dimensions <= DIMENSIONS or at + dimensions >= numbers.size:
            raise malformed(f"an array of {dimensions} dimensions at word {at}")
        shape = numbers[at + 1 : at + 1 + dimensions].tolist()
        at += 1 + dimensions
        size = shape[0] * shape[-1] if dimensions == DIMENSIONS else shape[0]
        if min(shape) < 0 or max(shape) > max(numbers.size, FEW) or size > numbers.size - at:
            raise malformed(f"an array of shape {tuple(shape)} at word {at}, where {numbers.size - at} words are left")
        yield numbers[at : at + size].reshape(shape).copy()
        at += size
