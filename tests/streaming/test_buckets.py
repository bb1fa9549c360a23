"""Processors of streams: what Spark's own Python process on the driver loads of them."""

import subprocess
import sys

from pyspark import cloudpickle

from timeloom.model.names import relation
from timeloom.streaming.final.sessions import StreamCoalesce
from timeloom.streaming.final.structured import processor_of
from timeloom.streaming.join_plan import Plan
from timeloom.streaming.processor import JoinProcessor

ON_DRIVER = """
import pickle, sys
class Handle:
    def __getattr__(self, name):
        return lambda *args: opened.append(args[0])
opened = []
processor = pickle.loads(sys.stdin.buffer.read())
processor.init(Handle())
processor.close()
print(opened, sorted({"numpy", "pandas", "pyarrow", "numba"} & set(sys.modules)))
"""


def on_driver(processor: object) -> str:
    """What is opened and loaded where Spark asks for the variables of the state."""
    packed = cloudpickle.dumps(processor)
    return subprocess.run(
        [sys.executable, "-c", ON_DRIVER], input=packed, capture_output=True, check=True
    ).stdout.decode()


def test_the_driver_loads_no_arrays():
    plan = Plan(relation("overlaps"), "inner", ("events", "events"), ("key",), (True, True))
    assert on_driver(JoinProcessor(plan)) == "['pages', 'join'] []\n"


def test_the_driver_loads_no_tables():
    assert on_driver(processor_of(StreamCoalesce, (), ())) == "['pages', 'final', 'rows'] []\n"
