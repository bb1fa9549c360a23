"""The hash of a stored file: over every byte of it, but for the hash's own two fields.

Arrow writes a file's metadata twice, in front and behind. The hash is part of it, so it is first written as zeros and
then put in. Which bytes those are is known by a mark, the first and the last in the file.

Files of the first format have a sum of blocks instead, over their arrays and their header.
"""

import hashlib
import mmap
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import xxhash

MARK = b"timeloom-xxh3-128:"
BLANK = b"0" * 32
_HASH = re.compile(MARK + rb"([0-9a-f]{32})")
_BLOCK = 4096


def offsets(content: mmap.mmap) -> tuple[int, int] | None:
    """Where the two copies of the hash stand; None if there are none."""
    first, last = content.find(MARK), content.rfind(MARK)
    if first == last or not _HASH.match(content, first) or not _HASH.match(content, last):
        return None
    return first + len(MARK), last + len(MARK)


def seal(content: mmap.mmap) -> bool:
    """Put the hash of a file into its blank fields; tell whether there were such."""
    found = offsets(content)
    if found is None or any(content[at : at + len(BLANK)] != BLANK for at in found):
        return False
    digest = xxhash.xxh3_128_hexdigest(content).encode()
    for at in found:
        content[at : at + len(BLANK)] = digest
    return True


def is_sealed(content: mmap.mmap, found: tuple[int, int]) -> bool:
    """Tell whether both hashes are that of the file."""
    first, last = found
    digest, whole = xxhash.xxh3_128(), memoryview(content)
    try:
        for part in (whole[:first], BLANK, whole[first + 32 : last], BLANK, whole[last + 32 :]):
            digest.update(part)
        stated = digest.hexdigest().encode()
        return bytes(whole[first : first + 32]) == stated == bytes(whole[last : last + 32])
    finally:
        whole.release()


def sum_of_blocks(text: str, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> str:
    """The checksum of the first format: a hash of the sums of short blocks of words."""
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        content = arrays[name].view(np.uint8)
        blocks = content.size // _BLOCK
        words = content[: blocks * _BLOCK].view(np.uint64).reshape(blocks, _BLOCK // 8)
        digest.update(words.sum(axis=1, dtype=np.uint64).tobytes())
        digest.update(content[blocks * _BLOCK :].tobytes())
    return digest.hexdigest()
