"""A batch of transactions on a bitemporal table: visible at once or not at all."""

from collections.abc import Mapping
from typing import Any, Protocol

from timeloom.bitemporal.draft import Draft
from timeloom.bitemporal.layout import Key, Version, facts_table
from timeloom.engines.tables.frames import require_columns
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, MIN_TICK

Portion = tuple["Instant | None", "Instant | None"]
Changed = list[tuple[int, Any]]

MANY = 256
"""From so many facts on they are added as columns."""

PERIOD = ("app_start", "app_end")


class Changeable(Protocol):
    """The table that a batch changes, as far as a batch knows it."""

    @property
    def without_overlaps(self) -> bool:
        """Whether the versions of a key must not overlap."""

    def _open(self) -> Draft:
        """Let one batch in, and no other."""

    def _commit(self, draft: Draft) -> None:
        """Make a draft visible."""

    def _close(self, draft: Draft, *, kept: bool) -> None:
        """Let the next one in; what a draft that is not kept has written is taken back."""


class Batch:
    """Transactions that become visible together, when the ``with`` block ends without an error."""

    def __init__(self, table: Changeable) -> None:
        self._table = table
        self._used = False
        self._draft: Draft | None = None

    def __enter__(self) -> "Batch":
        if self._used:
            raise UsageError("this batch has been used; open another one with table.batch()")
        self._draft = self._table._open()
        self._used = True
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        draft, self._draft = self._open(), None
        kept = False
        try:
            if kind is None and draft.changed:
                self._table._commit(draft)
                kept = True
        finally:
            self._table._close(draft, kept=kept)

    def insert(self, rows: Any, *, sys: Instant) -> None:
        """Insert facts, valid in their application periods, at a system time."""
        now, draft = self._advance(sys), self._open()
        version = draft.layout.read_fact(rows, now) if isinstance(rows, dict) else None
        if version is not None:
            self._insert(draft.layout.key_of_fact(version.values), version)
            return
        table = facts_table(rows)
        require_columns(table.column_names, [*draft.layout.key, *PERIOD], "inserted")
        if not draft.layout.schema.names:
            draft.layout = draft.layout.adopting(table)
        facts, starts, ends = draft.layout.read_facts(table)
        keys = draft.layout.keys_of(facts)
        if self._table.without_overlaps:
            self._refuse_overlaps(keys, starts, ends)
        if facts.num_rows >= MANY:
            first = draft.add_many(facts, starts, ends, now)
            draft.current().enter(keys, range(first, first + len(keys)))
            return
        values = zip(*(column.to_pylist() for column in facts.columns), strict=True)
        for key, fact, start, end in zip(keys, values, starts.tolist(), ends.tolist(), strict=True):
            self._insert(key, Version(fact, start, end, now), checked=True)

    def update(
        self,
        key: Any,
        values: Mapping[str, Any],
        *,
        sys: Instant,
        portion: "Portion | None" = None,
        valid_at: "Instant | None" = None,
    ) -> None:
        """Change values of a key at a system time, for all its application time or for a portion of it.

        ``app_start`` and ``app_end`` among the values move the period itself: of the key's only version, or of the one
        that is valid at ``valid_at``.
        """
        now, draft = self._advance(sys), self._open()
        layout = draft.layout
        if not isinstance(values, Mapping):
            raise UsageError(
                f"values={shown(values)} is no mapping; give columns and their new values, such as {{'v': 1}}"
            )
        changeable = [known for known in layout.attributes if known not in layout.key]
        for name in values:
            if name not in changeable and name not in PERIOD:
                raise InvalidInputError(
                    f"column {name!r} cannot be updated. {did_you_mean(str(name), [*changeable, *PERIOD])}"
                )
        attributes = layout.attributes
        changed = [
            (attributes.index(name), layout.value(name, value)) for name, value in values.items() if name not in PERIOD
        ]
        moved = {name: value for name, value in values.items() if name in PERIOD}
        if moved:
            self._move(layout.key_of(key), now, portion, valid_at, changed, moved)
            return
        if valid_at is not None:
            raise UsageError("valid_at= says whose period moves; give app_start or app_end, or use portion=")
        self._replace(layout.key_of(key), now, portion, changed)

    def delete(self, key: Any, *, sys: Instant, portion: "Portion | None" = None) -> None:
        """Delete a key at a system time, for all its application time or for a portion of it."""
        now = self._advance(sys)
        self._replace(self._open().layout.key_of(key), now, portion, None)

    def upsert(self, row: Mapping[str, Any], *, sys: Instant) -> None:
        """Let a fact hold in its application period from a system time on, whatever its key has there so far."""
        now, draft = self._advance(sys), self._open()
        key = draft.layout.key_of({name: row.get(name) for name in draft.layout.key})
        portion = (row.get("app_start"), row.get("app_end"))
        low, high = self._bounds(portion)
        periods = (draft.period(position) for position in draft.current().of_key(key))
        if any(start < high and low < end for start, end in periods):
            self._replace(key, now, portion, None)
        self.insert(dict(row), sys=sys)

    def _open(self) -> Draft:
        if self._draft is None:
            raise UsageError("the batch is not open; use it inside its block: with table.batch() as batch: …")
        return self._draft

    def _advance(self, sys: Instant) -> int:
        draft = self._open()
        layout = draft.layout if draft.layout.sys_type is not None else draft.layout.timed_by(sys)
        now = layout.sys_time.ticks_of(sys, "sys")
        if now < draft.latest:
            raise InvalidInputError(
                f"system time goes backwards: found {shown(sys)}, but the table has reached "
                f"{layout.sys_instant(draft.latest)!r}; give that time or a later one"
            )
        if now == FOREVER:
            raise InvalidInputError(f"sys={shown(sys)} is the last instant there is; give an earlier one")
        draft.layout, draft.latest = layout, now
        return now

    def _insert(self, key: Key, version: Version, *, checked: bool = False) -> None:
        draft = self._open()
        present = draft.current()
        rows = present.of_key(key)
        if rows and self._table.without_overlaps and not checked:
            self._refuse_overlap(key, rows, version.app_start, version.app_end)
        present.set(key, [*rows, draft.add(version)])

    def _replace(self, key: Key, now: int, portion: "Portion | None", changed: "Changed | None") -> None:
        """End what a key has in a portion; what takes its place begins now."""
        draft, (low, high) = self._open(), self._bounds(portion)
        present = draft.current()
        rows = present.of_key(key)
        affected, kept = list[int](), list[int]()
        for row in rows:
            start, end = draft.period(row)
            (affected if start < high and low < end else kept).append(row)
        if not affected:
            found = "no current row" if not rows else f"no current row that overlaps the portion {shown(portion)}"
            raise InvalidInputError(f"the key {shown(key)} has {found}; expected one to change: insert it first")
        pieces = [piece for row in affected for piece in self._pieces(draft.version(row), low, high, now, changed)]
        for row in affected:
            draft.end(row, now)
        present.set(key, [*kept, *(draft.add(piece) for piece in pieces)])

    def _pieces(self, old: Version, low: int, high: int, now: int, changed: "Changed | None") -> list[Version]:
        """What takes the place of a version: its parts outside the portion, and the changed part inside."""
        check = self._open().layout.check_tick
        begin, stop, found = old.app_start, old.app_end, []
        if begin < low:
            check(low)
            found.append(Version(old.values, begin, low, now))
            begin = low
        if high < stop:
            check(high)
        if changed is not None:
            found.append(Version(_with(old.values, changed), begin, min(stop, high), now))
        if high < stop:
            found.append(Version(old.values, high, stop, now))
        return found

    def _move(
        self,
        key: Key,
        now: int,
        portion: "Portion | None",
        valid_at: "Instant | None",
        changed: Changed,
        moved: Mapping[str, Any],
    ) -> None:
        """Give one version of a key another application period."""
        if portion is not None:
            raise UsageError("portion= changes a part of a period, app_start and app_end move the period; give one")
        draft, layout = self._open(), self._open().layout
        at = None if valid_at is None else layout.app_time.ticks_of(valid_at, "valid_at")
        rows = draft.current().of_key(key)
        chosen = [row for row in rows if at is None or draft.period(row)[0] <= at < draft.period(row)[1]]
        if len(chosen) != 1:
            raise InvalidInputError(
                f"the key {shown(key)} has {len(chosen)} current rows{'' if at is None else f' at {shown(valid_at)}'}; "
                "expected one whose period moves: say by valid_at= at which instant it is valid"
            )
        old = draft.version(chosen[0])
        start, end = old.app_start, old.app_end
        if "app_start" in moved:
            start = layout.app_time.ticks_of(moved["app_start"], "app_start")
        if "app_end" in moved:
            given = moved["app_end"]
            end = FOREVER if given is None else layout.app_time.ticks_of(given, "app_end")
        if start >= end:
            raise InvalidInputError(f"the period of {shown(key)} would not end after its start; give other ends")
        for tick in (start, end):
            layout.check_tick(tick)
        others = [row for row in rows if row != chosen[0]]
        if self._table.without_overlaps:
            self._refuse_overlap(key, others, start, end)
        draft.end(chosen[0], now)
        draft.current().set(key, [*others, draft.add(Version(_with(old.values, changed), start, end, now))])

    def _refuse_overlaps(self, keys: list[Key], starts: Ticks, ends: Ticks) -> None:
        """Refuse facts that overlap current ones of their key, or one another."""
        draft, coming = self._open(), dict[Key, list[int]]()
        known = draft.current().known(keys)
        for at, key in known:
            self._refuse_overlap(key, draft.current().of_key(key), int(starts[at]), int(ends[at]))
            coming.setdefault(key, [])
        for at, key in enumerate(keys) if known else ():
            if key in coming:
                for other in coming[key]:
                    if starts[at] < ends[other] and starts[other] < ends[at]:
                        raise self._overlap(key, int(starts[other]), int(ends[other]))
                coming[key].append(at)

    def _refuse_overlap(self, key: Key, rows: list[int], start: int, end: int) -> None:
        for row in rows:
            begins, ends = self._open().period(row)
            if start < ends and begins < end:
                raise self._overlap(key, begins, ends)

    def _overlap(self, key: Key, start: int, end: int) -> InvalidInputError:
        time = self._open().layout.app_time
        until = "until further notice" if end == FOREVER else f"to {time.shown(end)}"
        return InvalidInputError(
            f"the key {shown(key)} has a current row from {time.shown(start)} {until}, which the new one overlaps; "
            "this table is WITHOUT OVERLAPS: update it for a portion, or delete that portion first"
        )

    def _bounds(self, portion: "Portion | None") -> tuple[int, int]:
        if portion is None:
            return MIN_TICK, FOREVER
        if not isinstance(portion, tuple | list) or len(portion) != 2:
            raise UsageError(f"portion={shown(portion)} is no portion; give (from, to), each an instant or None")
        time, (low, high) = self._open().layout.app_time, portion
        begin = MIN_TICK if low is None else time.ticks_of(low, "portion")
        stop = FOREVER if high is None else time.ticks_of(high, "portion")
        if begin >= stop:
            raise UsageError(f"portion={shown(portion)} covers no time; give (from, to) with from before to")
        return begin, stop


def _with(values: tuple[Any, ...], changed: Changed) -> tuple[Any, ...]:
    new = list(values)
    for at, value in changed:
        new[at] = value
    return tuple(new)
