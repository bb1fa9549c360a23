"""One thread that writes while others read, for as long as is asked; whatever any of them raises is raised again."""

import threading
import time
from collections.abc import Callable

READERS = 4


def crowd(seconds: float, write: Callable[[], None], *reads: Callable[[], None]) -> int:
    """Let one thread write and several threads do each of the reads; answers how many calls there were.

    The first write comes before the clock starts: it may have to compile.
    """
    write()
    deadline = time.monotonic() + seconds
    calls, faults = [0] * (1 + READERS * len(reads)), []

    def work(number: int, act: Callable[[], None]) -> None:
        try:
            while time.monotonic() < deadline and not faults:
                act()
                calls[number] += 1
        except BaseException as fault:
            faults.append(fault)

    acts = [write, *(read for read in reads for _ in range(READERS))]
    threads = [threading.Thread(target=work, args=task) for task in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return sum(calls)
