"""The columns and codes of the arrays that the streaming sweep works on. They are few: each one costs at every call."""

KNOWN, STARTING, EVENT_SIDE, ID, FROM, TO, VERDICT, EVENT_HANDLE = range(8)
EVENT_SIZE = 8
"""The columns of events, which come by the instant at which they are known, at equal instants ends first. ``FROM`` and
``TO`` are the period of the row as far as it is known; its handle comes last. Before that is known, the number that the
event was given stands there, or -1."""

FIRES, LEAVES = range(2)
"""The columns of what is foreseen for each event: when its row looks for partners, and when it can match no more."""

LEFT_SIDE, RIGHT_SIDE = 0, 1
"""The sides, and the maps of their rows that may still match, by handle."""

HEAP, NOW = 0, 1
TIME, WHAT, SIDE, HANDLE = range(4)
"""An agenda has two parts, a heap of what is planned and the list of what is due now, and these columns."""

FIRE, CHECK, EXPIRE = 1, 2, 4
"""What is planned for a row, as bits, in the order in which it is done at one instant."""

INNER, LEFT, RIGHT, FULL, SEMI, ANTI, EVERY = range(7)
"""The kinds of join; those up to ``FULL`` give pairs, and so does ``EVERY``: with all rows, each once it can match no
more, for whoever judges pairs by more than their periods."""

UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of rows on sides whose rows without partner are asked for."""

PAIRS, ROWS, PLANNED, DUE, WAITERS, BUFFERED, HANDLES, WHOLE, LATE = 0, 1, 2, 3, 4, 5, 7, 9, 11
BEFORE, SCANS, GETNEXT, CANDIDATES, CURSOR, COMING, WANTED, FAR, TO_REVIEW = range(13, 22)
STATE_SIZE = 22
"""Where a run stands: pairs and single rows written; entries planned and due; waiting rows; for each side the fired
rows in the buffer, the next handle, whether its rows come whole, and whether they are known only at their end; the
instant before the one at work; what the scans have counted; the next event; how many events come at an instant, and how
many pairs they may give; whether a row has come from near the ends of the axis, where sums must saturate; and the first
waiting row that must be looked at again, or -1."""

WAITER, WITNESS, UNTIL, WAITING_SIDE = range(4)
WAITER_SIZE = 4
"""Unmatched rows that nothing new can match, and their sides: each waits for a witness on the other side, which may
match up to an instant."""

NEXT_WAITER, LAST_WAITER, QUEUED = range(WAITER_SIZE, WAITER_SIZE + 3)
ENTRY_SIZE = 7
"""Those that wait for one witness form a list, and so do those that must be looked at again: the next one and the one
before, or -1, and whether it is the second kind of list. Nothing of that is stored."""

LEFT_BOUNDS, RIGHT_BOUNDS, LEFT_READY, RIGHT_READY, DECIDES, TIGHT, OPEN_LIMIT = 0, 8, 16, 18, 20, 22, 38
RULE_SIZE = 40
"""The columns of the rules, which have a row per decision: the bounds of its box as seen from either side; how long
after its start and its end a row of either side is ready; which sides may be ready last; the tight bounds as seen from
either side; how long after the start of an open row of either side a partner may still become known."""

LOOKS = 16
"""The columns of a union, which has a row per box: its bounds as seen from either side; and a row per distance from
the start and from the end of a left and of a right row at which to look at it (four columns; unused ones are NEVER)."""

LEFT_NAME, RIGHT_NAME, INSTANT = range(3)
"""The rows of the pairs that are written."""

ROW_NAME, ROW_INSTANT, ROW_SIDE = range(3)
"""The same of single rows."""
