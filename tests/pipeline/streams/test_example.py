"""The example of a stream runs and tells each pair once; its file is sound."""

import runpy

from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.streams.calls import StreamJoin
from timeloom.pipeline.streams.check import load_file
from timeloom.pipeline.streams.models import Stream
from tree import ROOT

HERE = ROOT / "examples/departures"


def test_the_example_tells_what_is_certain(capsys):
    runpy.run_path(str(HERE / "departures.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "intersects",
        "minute  4, 2 rows kept: LH1 intersects fuel since 1; UA7 intersects fuel since 2",
        "minute  9, 2 rows kept: LH1 intersects crew since 7; UA7 intersects crew since 7",
        "minute 14, 2 rows kept: AF3 intersects crew since 11; AF3 intersects food since 13; "
        "UA7 intersects food since 13",
        "refused: 0, certain only now: 0",
        "contains",
        "minute  4, 2 rows kept: LH1 contains fuel since 4",
        "minute  9, 2 rows kept: nothing new",
        "minute 14, 2 rows kept: UA7 contains crew since 12",
        "refused: 0, certain only now: 0",
    ]


def test_the_file_is_sound():
    stream = load_file(str(HERE / "departures.yml"), Secrets({}))
    assert isinstance(stream, Stream)
    assert isinstance(stream.call, StreamJoin)
    assert (stream.call.relation, stream.call.on) == ("contains", ["airport"])
