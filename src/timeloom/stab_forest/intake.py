"""Where single events wait that come as most do: integers in order, with an end. They take no lock.

A lock costs as much as all else that an append does. The list ``_free`` holds one token instead, and taking the only
item out of a list is a step that succeeds in one thread at a time. Whoever holds the token adds an event and puts it
back. The forest, under its own lock, closes an intake by taking the token for good: what is in it then is complete, and
threads that still know the intake find no token, and turn to the forest.
"""

import time

from timeloom.model.ticks import FOREVER, MIN_TICK

ROOM = 4096
"""So many events an intake takes at most."""


class Intake:
    """The events from the id ``first`` on, and the last start and end that came.

    It takes none before it is opened, or after it is closed; ``is_open`` says that it may hold any.
    """

    __slots__ = ("_closed", "_free", "ends", "first", "is_open", "last_end", "last_start", "starts")

    def __init__(self, first: int) -> None:
        self.first = first
        self.is_open = self._closed = False
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.last_start = self.last_end = MIN_TICK
        self._free: list[None] = []

    @property
    def following(self) -> int:
        """The id behind those of its events."""
        return self.first + len(self.ends)

    def open(self, last_start: int, last_end: int) -> None:
        """Take events from now on that come after this start and end."""
        self.last_start, self.last_end = last_start, last_end
        self.is_open = True
        self._free.append(None)

    def push(self, start: int, end: int) -> int | None:
        """Take an event and answer its id; None if it is out of order or open, or there is no room, or no token.

        Whatever interrupts the thread that holds the token, the event is in both lists or in none.
        """
        free, ends, number = self._free, self.ends, ROOM
        if not free:
            return None
        try:
            del free[0]
        except IndexError:
            return None
        try:  # nothing stands before this that could be interrupted: a token that is lost stops the forest
            number = len(ends)
            last = self.last_start
            if (start > last or (start == last and end >= self.last_end)) and start < end < FOREVER and number < ROOM:
                self.starts.append(start)
                ends.append(end)
                self.last_start, self.last_end = start, end
                return self.first + number
            return None
        except BaseException:
            del self.starts[number:], ends[number:]
            raise
        finally:
            free.append(None)

    def close(self) -> None:
        """Take no more events, as soon as none is on its way; the forest's lock must be held."""
        while not self._closed:
            try:
                del self._free[0]
            except IndexError:
                time.sleep(0)
            else:
                self._closed = True
