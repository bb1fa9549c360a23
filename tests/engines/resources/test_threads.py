"""Threads are kept for the next work, also in a process that was forked, and see the context of whoever gave it."""

import os
import threading
import time
from contextvars import ContextVar

import pytest

from timeloom.engines.resources.threads import KEPT, aside, in_parallel

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def workers(tasks=4, threads=2):
    """Which threads do some tasks that wait for each other."""
    together = threading.Barrier(threads)

    def work():
        together.wait(60)
        return threading.get_ident()

    return set(in_parallel([work] * tasks, threads))


def test_work_after_work_starts_no_more_threads():
    for _ in range(3):
        workers()
    before = threading.active_count()
    for _ in range(50):
        assert len(workers()) == 2
    assert threading.active_count() <= before + 1  # one may not have come back yet when the next work begins


def test_no_more_idle_threads_are_kept_than_said():
    before, together = threading.active_count(), threading.Barrier(3 * KEPT)
    in_parallel([lambda: together.wait(60)] * (3 * KEPT), 3 * KEPT)
    began = time.monotonic()
    while threading.active_count() > before + KEPT:
        assert time.monotonic() < began + 60
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    workers()
    child = os.fork()
    if not child:
        os._exit(0 if len(workers()) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_tasks_see_the_context_of_the_caller_and_change_only_their_own():
    def rename():
        found = NAME.get()
        NAME.set("task")
        return found

    for name in ("one", "other"):
        NAME.set(name)
        assert set(in_parallel([rename] * 2, 2)) <= {name, "task"}
        assert aside(rename) == name
        assert NAME.get() == name


def test_work_within_work_is_done_and_its_caller_works_along():
    found = aside(in_parallel, [threading.get_ident] * 1, 2)
    assert len(found) == 1
    inside = aside(lambda: (threading.get_ident(), workers(2, 2)))
    assert inside[0] in inside[1]
