"""The columns and codes of the arrays that the streaming sweep works on."""

LEFT_SIDE, RIGHT_SIDE = 0, 1

TIME, WHAT, SIDE, FIRES, HANDLE, FROM, TO, NAME = range(8)
"""The columns of an agenda. ``FIRES`` has a bit for each decision for which the row is ready now."""

END, START, FIRE, CHECK, EXPIRE = 1, 2, 4, 8, 16
"""What an entry asks for, as bits, in the order in which it is done at one instant."""

INNER, LEFT, SEMI, ANTI = range(4)
UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of left rows."""

PAIRS, ROWS, ENTRY, FIRING, WAITERS = range(5)
"""Where a run stands: what is written; the first entry of its instant; the next entry of it that may fire, or -1
while the instant has not begun; the number of waiting rows."""

WAITER, WITNESS, UNTIL = range(3)
"""Unmatched left rows that nothing new can match: each waits for a witness, which may match up to an instant."""


LEFT_BOUNDS, RIGHT_BOUNDS, LEFT_READY, RIGHT_READY, BOTH = 0, 8, 16, 18, 20
"""The columns of the rules, which have a row per decision: the bounds of its box as seen from either side; how long
after its start and its end a row of either side is ready; whether either side may be ready last."""

LEFT_NAME, RIGHT_NAME, INSTANT, ROW_NAME, ROW_INSTANT = range(5)
"""The rows of the output: pairs with their instant, and single left rows with theirs."""
