"""States of earlier versions are read; the bytes below were written by the release that had that version."""

import zlib
from base64 import b64decode
from functools import partial

import numpy as np
import pytest

from timeloom.errors import StorageError
from timeloom.model.names import relation
from timeloom.streaming.intake import Events
from timeloom.streaming.keyed import KeyedJoin
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.storage import VERSION, seal, unseal
from timeloom.streaming.versions import STEPS, migrated, require_known

WRITTEN = {
    4: "eNpbYVbNl7ZM0HflpOufLbcL9lxyfOBx6t5yxYMZh20KfngbMzJAACsazYRGMzOgApg4C5RmRFPHiSb+HwLq0fUxELCPCYf5jAT0o6tnZ8AOY"
    "OrZ0PgMaOaguwvmHxjNiMMdaOY1wGh0exlxuA9mPg73N6C7l4VAODIQaR+MBgC/Pj7r",
    5: "eNqznBGjvt3Shuvprbt/Ly1YwnzJ8YHHqXvLFQ9mHLYp+OFtzMgAAaxoNBMazcyACmDiLFCaEU0dJ5r4fwioR9fHQMA+JhzmMxLQj66enQE7"
    "gKlnQ+MzoJmD7i6Yf2A0Iw53oJnXAKPR7WXE4T6Y+Tjc34DuXhYc8YPLX7jsg9Ho8gCakz/F",
    6: "eNp7MeuB7MTpRowbVsd0B6++ZXrJ8YHHqXvLFQ9mHLYp+OFtzMgAAexQmgVKM6HRzAyogAWHelYozYimjxNN/D8E1EPp/+j6GQi4gwmHPYwE9KO"
    "rZ2fADmDq2dD4DGjmoLsLzV/1jDjcgWZeA4xGt5cRh/tg5uNwfwMTjvhiwsFnINI+GI0uDwB6Mke1",
}
"""Left rows 1 and 2, open since 2 and 3; right row 7 since 0, and 8 from 1 to 3; a start of left row 3 at 9 is held."""


def one(row: int, time: int, starting: bool) -> Events:
    return Events.endpoints(np.array([row]), np.array([time]), np.array([starting]))


@pytest.mark.parametrize("version", STEPS)
def test_a_state_of_an_earlier_version_goes_on(version):
    join = EndpointJoin(relation("during"), how="left")
    stored = zlib.decompress(b64decode(WRITTEN[version]))
    join.restore(migrated(unseal(stored, join.query, "names", version), version))
    out = join.push(one(1, 6, False), one(7, 8, False), until=20)
    assert (out.lefts.tolist(), out.rights.tolist(), out.instants.tolist()) == ([1], [7], [6])
    assert (out.rows.tolist(), out.row_instants.tolist(), out.row_sides.tolist()) == ([2, 3], [8, 9], [0, 0])
    with pytest.raises(StorageError, match="damaged"):
        unseal(stored, join.query, "names")


@pytest.mark.parametrize("version", STEPS)
def test_keyed_joins_go_on_from_an_earlier_version(version):
    make = partial(EndpointJoin, relation("during"), how="left")
    arrays = unseal(zlib.decompress(b64decode(WRITTEN[version])), make().query, "names", version)
    join = KeyedJoin(make)
    join.restore([arrays[0][[0, 0, 0]], np.array([3]), *arrays], version)
    none, key = np.empty(0, np.int64), np.array([3])
    ((number, out, _),) = join.push((one(1, 6, False), Events.none()), (key, none), until=8)
    assert (number, out.lefts.tolist(), out.rights.tolist()) == (3, [1], [7])
    with pytest.raises(StorageError, match="is of version 3, but this is version"):
        join.restore([], 3)


@pytest.mark.parametrize("version", [min(STEPS) - 1, VERSION + 1])
def test_a_version_without_a_way_is_refused(version):
    with pytest.raises(StorageError, match=f"is of version {version}, but this is version {VERSION}, which reads"):
        require_known(version)


def test_what_cannot_be_brought_up_to_date_is_malformed():
    join = EndpointJoin(relation("during"), how="left")
    for arrays in ([], [np.zeros(3, np.int64)]):
        with pytest.raises(StorageError, match="malformed"):
            migrated(unseal(seal(arrays or [np.zeros(1, np.int64)], join.query), join.query)[: len(arrays)], min(STEPS))
