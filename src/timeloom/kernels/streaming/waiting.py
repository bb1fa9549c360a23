"""Lists of rows that wait for a witness: who waits for whom, and who must be looked at again.

Each waiting row has an entry, which is either in the list of its witness or in that of rows to be looked at again. So
whatever happens to a row costs those that wait for it, and nobody else.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.gapless import Cells, find, remove_element, unchain
from timeloom.kernels.streaming.layout import (
    LAST_WAITER,
    MATCHED,
    NEXT_WAITER,
    QUEUED,
    TO_REVIEW,
    UNTIL,
    WAITER,
    WAITERS,
    WAITING,
    WAITING_SIDE,
    WITNESS,
)
from timeloom.kernels.streaming.pairs import NEVER


@compiled
def begin_with(entry: int, maps: Cells, waiters: Cells, state: Cells, first: int) -> None:
    """Let the list that an entry is in begin with this one, or be empty."""
    if waiters[QUEUED, entry]:
        state[TO_REVIEW] = first
        return
    other = 1 - waiters[WAITING_SIDE, entry]
    witness = find(maps, other, waiters[WITNESS, entry])
    if witness >= 0:
        maps[other, gapless.WATCHED, witness] = first


@compiled
def put_first(entry: int, first: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Put an entry that is in no list in front of the list that it belongs to, which begins with ``first``."""
    waiters[NEXT_WAITER, entry], waiters[LAST_WAITER, entry] = first, -1
    if first >= 0:
        waiters[LAST_WAITER, first] = entry
    begin_with(entry, maps, waiters, state, entry)


@compiled
def take_out(entry: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Take an entry out of its list."""
    before, after = waiters[LAST_WAITER, entry], waiters[NEXT_WAITER, entry]
    if after >= 0:
        waiters[LAST_WAITER, after] = before
    if before >= 0:
        waiters[NEXT_WAITER, before] = after
    else:
        begin_with(entry, maps, waiters, state, after)


@compiled
def queue(entry: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Let a waiting row be looked at again, at the end of this instant."""
    if not waiters[QUEUED, entry]:
        take_out(entry, maps, waiters, state)
        waiters[QUEUED, entry] = 1
        put_first(entry, state[TO_REVIEW], maps, waiters, state)


@compiled
def wait_for(entry: int, witness: int, until: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Let a row that was to be looked at wait for a witness, which may match it up to an instant."""
    other = 1 - waiters[WAITING_SIDE, entry]
    take_out(entry, maps, waiters, state)
    waiters[WITNESS, entry], waiters[UNTIL, entry] = maps[other, gapless.KEY, witness], until
    waiters[QUEUED, entry] = 0
    put_first(entry, maps[other, gapless.WATCHED, witness], maps, waiters, state)


@compiled
def begin_to_wait(side: int, element: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Let a row without partner be looked at, at the end of this instant; there must be room for its entry."""
    entry = state[WAITERS]
    state[WAITERS] += 1
    maps[side, gapless.MARK, element], maps[side, gapless.ENTRY, element] = WAITING, entry
    waiters[WAITER, entry], waiters[WAITING_SIDE, entry] = maps[side, gapless.KEY, element], side
    waiters[WITNESS, entry], waiters[UNTIL, entry], waiters[QUEUED, entry] = -1, NEVER, 1
    put_first(entry, state[TO_REVIEW], maps, waiters, state)


@compiled
def wait_no_more(side: int, element: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Let a row wait no more, if it does; the last entry takes the position of its own."""
    entry = maps[side, gapless.ENTRY, element]
    if entry < 0:
        return
    take_out(entry, maps, waiters, state)
    maps[side, gapless.ENTRY, element] = -1
    state[WAITERS] -= 1
    last = state[WAITERS]
    if entry == last:
        return
    for row in range(waiters.shape[0]):
        waiters[row, entry] = waiters[row, last]
    before, after = waiters[LAST_WAITER, entry], waiters[NEXT_WAITER, entry]
    if after >= 0:
        waiters[LAST_WAITER, after] = entry
    if before >= 0:
        waiters[NEXT_WAITER, before] = entry
    else:
        begin_with(entry, maps, waiters, state, entry)
    owner = find(maps, waiters[WAITING_SIDE, entry], waiters[WAITER, entry])
    maps[waiters[WAITING_SIDE, entry], gapless.ENTRY, owner] = entry


@compiled
def changed(side: int, element: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Something has happened to a row: it is looked at again if it waits, and so are those that wait for it."""
    if maps[side, gapless.ENTRY, element] >= 0:
        queue(maps[side, gapless.ENTRY, element], maps, waiters, state)
    while maps[side, gapless.WATCHED, element] >= 0:
        queue(maps[side, gapless.WATCHED, element], maps, waiters, state)


@compiled
def mark_matched(side: int, element: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Note that a row has a partner: it waits for none."""
    wait_no_more(side, element, maps, waiters, state)
    maps[side, gapless.MARK, element] = MATCHED


@compiled
def drop(side: int, element: int, maps: Cells, waiters: Cells, state: Cells) -> None:
    """Let go of a row; the last one moves into its place."""
    wait_no_more(side, element, maps, waiters, state)
    changed(side, element, maps, waiters, state)
    if maps[side, gapless.COUNT, gapless.BY]:
        unchain(maps, side, element)
    last = maps[side, gapless.COUNT, 0] - 1
    maps[side, gapless.ENTRY, element] = maps[side, gapless.ENTRY, last]
    maps[side, gapless.WATCHED, element] = maps[side, gapless.WATCHED, last]
    remove_element(maps, side, element)


@compiled
def relink(maps: Cells, waiters: Cells, state: Cells) -> None:
    """Make the lists of waiting rows that come from a stored state."""
    state[TO_REVIEW] = -1
    for entry in range(state[WAITERS]):
        side = waiters[WAITING_SIDE, entry]
        element = find(maps, side, waiters[WAITER, entry])
        witness = find(maps, 1 - side, waiters[WITNESS, entry])
        maps[side, gapless.ENTRY, element] = entry
        waiters[QUEUED, entry] = witness < 0
        first = state[TO_REVIEW] if witness < 0 else maps[1 - side, gapless.WATCHED, witness]
        put_first(entry, first, maps, waiters, state)
