"""States of earlier versions are read; the bytes below were written by the release that had that version."""

import json
import zlib
from base64 import b64decode
from functools import partial
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest

from timeloom import storage
from timeloom.errors import StorageError
from timeloom.model.names import relation
from timeloom.streaming import EndpointCount, LiveForest, StreamCoalesce, saved
from timeloom.streaming.intake import Events
from timeloom.streaming.keyed import KeyedJoin
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.storage import SEAL, VERSION, seal, unseal
from timeloom.streaming.versions import STEPS, migrated, require_known

WRITTEN = {
    4: "eNpbYVbNl7ZM0HflpOufLbcL9lxyfOBx6t5yxYMZh20KfngbMzJAACsazYRGMzOgApg4C5RmRFPHiSb+HwLq0fUxELCPCYf5jAT0o6tnZ8AOY"
    "OrZ0PgMaOaguwvmHxjNiMMdaOY1wGh0exlxuA9mPg73N6C7l4VAODIQaR+MBgC/Pj7r",
    5: "eNqznBGjvt3Shuvprbt/Ly1YwnzJ8YHHqXvLFQ9mHLYp+OFtzMgAAaxoNBMazcyACmDiLFCaEU0dJ5r4fwioR9fHQMA+JhzmMxLQj66enQE7"
    "gKlnQ+MzoJmD7i6Yf2A0Iw53oJnXAKPR7WXE4T6Y+Tjc34DuXhYc8YPLX7jsg9Ho8gCakz/F",
    6: "eNp7MeuB7MTpRowbVsd0B6++ZXrJ8YHHqXvLFQ9mHLYp+OFtzMgAAexQmgVKM6HRzAyogAWHelYozYimjxNN/D8E1EPp/+j6GQi4gwmHPYwE9KO"
    "rZ2fADmDq2dD4DGjmoLsLzV/1jDjcgWZeA4xGt5cRh/tg5uNwfwMTjvhiwsFnINI+GI0uDwB6Mke1",
    7: "eNr73Wm9mftJa1TljAU/jrxe8/eS4wOPU/eWKx7MOGxT8MPbmJEBAtihNAuUZkKjmRlQAQsO9axQmhFNHyea+H8IqIfS/9H1MxBwBxMOexgJ"
    "6EdXz86AHcDUs6HxGdDMQXcXmr/qGXG4A828BhiNbi8jDvfBzMfh/gYmHPHFhIPPQKR9MBpdHgBpWEnN",
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


def without_tally(path) -> None:
    """Make a file what it was in version 1: it did not count events, and said nothing of a version."""
    kind = storage.kind_of(path)
    arrays, meta = storage.load(path, kind, saved.VERSION)
    del meta[saved.STATE]
    storage.save(path, kind, saved.VERSION, {name: arrays[name] for name in arrays if name != "tally"}, meta)


def test_counts_and_live_indexes_of_version_1_go_on(tmp_path):
    count, live = EndpointCount("intersects"), LiveForest()
    rows = pa.table({"id": [1, 2], "time": [2, 9], "event": ["start", "start"]})
    count.push(one(1, 2, True), one(7, 3, True), until=4)
    count.push(one(2, 9, True), Events.none(), until=4)
    live.push(rows, until=4)
    for stream, load in ((count, EndpointCount.load), (live, LiveForest.load)):
        stream.save(tmp_path / "state")
        without_tally(tmp_path / "state")
        again = load(tmp_path / "state")
        assert again.tally == (1, 0, 1, 0)
        if stream is live:
            assert again.push(rows.slice(0, 0), until=9) == 0
            assert again.active().to_pylist() == [1, 2]
        else:
            out = again.push(one(1, 6, False), Events.none(), until=8)
            assert (out.ids.tolist(), out.counts.tolist()) == ([1], [1])


def test_counts_of_a_later_version_are_refused(tmp_path):
    EndpointCount().save(tmp_path / "state")
    arrays, meta = storage.load(tmp_path / "state", "stream-count", saved.VERSION)
    storage.save(tmp_path / "state", "stream-count", saved.VERSION, dict(arrays), {**meta, saved.STATE: 3})
    with pytest.raises(StorageError, match="the file is of version 3, but this is version 2; load it with the release"):
        EndpointCount.load(tmp_path / "state")


def of_version(stored: bytes, version: int) -> bytes:
    """The state of a final stream without refused events, as another version wrote it."""
    query, (text, _, body) = stored[SEAL : 2 * SEAL], stored[2 * SEAL :].partition(b"\n")
    header = json.loads(text) | {"version": version}
    assert header.pop("refused") == []
    content = query + json.dumps(header).encode() + b"\n" + body
    return blake2b(content, digest_size=SEAL).digest() + content


def test_final_streams_of_version_1_go_on(tmp_path):
    sessions, again, place = StreamCoalesce(by="key"), StreamCoalesce(by="key"), tmp_path / "state"
    rows = pa.table({"key": ["a", "a"], "id": [1, 2], "time": [2, 9], "event": ["start", "start"]})
    sessions.push(rows, until=4)
    sessions.save(place)
    place.write_bytes(of_version(place.read_bytes(), 1))
    again.resume(place)
    assert again.tally == sessions.tally == (2, 1, 1, 0)
    assert again.close().to_pylist() == sessions.close().to_pylist()
    place.write_bytes(of_version(_saved(StreamCoalesce(by="key"), place), 3))
    with pytest.raises(StorageError, match="is of version 3, but this is version 2, which reads versions from 1 on"):
        again.resume(place)


def _saved(stream, place) -> bytes:
    stream.save(place)
    return place.read_bytes()


def test_refused_events_of_final_streams_are_saved(tmp_path):
    sessions, again = StreamCoalesce(by="key"), StreamCoalesce(by="key")
    sessions.push(pa.table({"key": ["a"], "id": [1], "time": [2], "event": ["end"]}), until=4)
    sessions.save(tmp_path / "state")
    again.resume(tmp_path / "state")
    found = again.take_rejected().to_pylist()
    assert found == sessions.take_rejected().to_pylist()
    assert [row["reason"] for row in found] == ["ends without having started"]
