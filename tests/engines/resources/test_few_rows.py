"""Calls on few rows do their work where they are made: starting a thread would take longer than the work."""

import threading

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

FEW = pa.table({"start": np.arange(500) * 7 % 501, "end": np.arange(500) * 7 % 501 + 9, "key": np.arange(500) % 3})
AT = pa.table({"at": np.arange(500) * 7 % 501, "key": np.arange(500) % 3})
BY_TEXT = AT.set_column(1, "key", AT["key"].cast("string"))
CALLS = {
    "join": lambda: tl.join(FEW, FEW, on="key"),
    "as_of, in no order": lambda: tl.as_of(AT, AT, on="key"),
    "as_of, in order": lambda: tl.as_of(AT.sort_by("at"), AT.sort_by("at"), on="key"),
    "as_of, by text": lambda: tl.as_of(*[BY_TEXT] * 2, on="key"),
    "nearest": lambda: tl.nearest(FEW, FEW, on="key"),
    "the 3 nearest": lambda: tl.nearest(FEW, FEW, 3, ties="all"),
    "split": lambda: tl.split(FEW, every=4),
    "split at instants": lambda: tl.split(FEW, at=[100, 200]),
}


@pytest.mark.parametrize("case", CALLS)
def test_no_thread_is_started_for_few_rows(case, monkeypatch):
    CALLS[case]()  # compiling, which a first call may have to do, starts a timer
    started = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    assert CALLS[case]().num_rows >= 500
    assert not started
