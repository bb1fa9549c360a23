"""Kernels load the compiler when one is called, not before, and then behave like what it made of them."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from timeloom.kernels.jit import Kernel, as_written, borrowing, compiled
from timeloom.kernels.order import bucket, ranks, sort

IMPORTS = """
import sys
import timeloom.engines.spark.join, timeloom.engines.local.join, timeloom.engines.spark.temporal_aggregate
print("numba" in sys.modules)
import numpy as np
from timeloom.kernels.order import in_order
assert in_order(np.array([1, 2]))
print("numba" in sys.modules)
"""


def test_the_compiler_is_loaded_by_the_first_call():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_kernels_call_each_other_and_are_called_like_functions():
    order = sort(np.array([5, 3, 9, 3]))
    found = ranks(order.values, order.offsets, order.base, order.shift, np.array([3, 4, 10]))
    assert found.tolist() == [0, 2, 4]
    assert bucket(value=7, base=0, shift=1, buckets=10) == 3


def test_kernels_keep_name_and_text_and_travel_by_name():
    assert isinstance(bucket, Kernel)
    for _ in range(2):
        assert (bucket.__name__, bucket.__module__) == ("bucket", "timeloom.kernels.order")
        assert "bucket of a value" in (bucket.__doc__ or "")
        bucket(1, 0, 0, 2)
    assert pickle.loads(pickle.dumps(bucket)) is bucket


def test_kernels_that_are_not_ready_run_as_written_where_that_is_asked_for(monkeypatch):
    monkeypatch.setattr("timeloom.kernels.jit._made", lambda function, options: lambda number: -number)
    kernel = compiled(lambda number: number + 1)
    with as_written():
        assert kernel(1) == 2
    assert kernel(1) == -1
    with as_written():
        assert kernel(1) == -1


def test_many_threads_make_one_kernel(monkeypatch):
    made = []

    def make(function, options):
        made.append(function)
        return function

    monkeypatch.setattr("timeloom.kernels.jit._made", make)
    kernel = compiled(lambda number: number + 1)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(kernel, [1] * 64)) == {2}
    assert len(made) == 1


def test_what_the_compiler_refuses_is_refused_at_each_call(monkeypatch):
    def refuse(function, options):
        raise RuntimeError("no compiler")

    monkeypatch.setattr("timeloom.kernels.jit._made", refuse)
    kernel = compiled(lambda: None)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no compiler"):
            kernel()


def test_a_kernel_that_borrows_its_arrays_leaves_them_to_whoever_made_them():
    values = np.array([3, 4])
    used = sys.getrefcount(values)
    assert [total_of((values, values)) for _ in range(1_000)] == [14] * 1_000
    assert sys.getrefcount(values) == used


@borrowing
def total_of(both):
    total = 0
    for number in range(both[0].size):
        total += both[0][number] + both[1][number]
    return total
