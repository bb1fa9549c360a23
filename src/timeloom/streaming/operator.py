"""The streaming join on arrays: endpoint events in, certain pairs out."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import UsageError, did_you_mean
from timeloom.kernels.gapless import COUNT, MARK, NAME, contents, empty_maps, filled, with_room
from timeloom.kernels.order import Ticks
from timeloom.kernels.sweep_layout import FIRING, MATCHED, PAIRS, ROW_NAME, ROWS, TIME, WAITERS
from timeloom.kernels.sweep_stream import run
from timeloom.kernels.sweep_unmatched import next_review
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, Axis
from timeloom.streaming.agenda import Agenda, Entries
from timeloom.streaming.deciding import ARRIVALS, EVENTS, decisions
from timeloom.streaming.intake import Events, Ids, Intake, Refused

HOWS = ("inner", "left", "semi", "anti")


def check_options(how: str, left: str, right: str) -> None:
    """Refuse unknown kinds of join and of arrival."""
    for option, value, known in (("how", how, HOWS), ("left", left, ARRIVALS), ("right", right, ARRIVALS)):
        if value not in known:
            raise UsageError(f"{option}={value!r} is unknown. {did_you_mean(value, known)}")


class Emitted(NamedTuple):
    """What has become certain: pairs, single left rows, and the events that were refused."""

    lefts: Ids
    rights: Ids
    instants: Ticks
    rows: Ids
    row_instants: Ticks
    refused: tuple[Refused, ...]


class EndpointJoin:
    """Join two streams of endpoints; each pair leaves at the first instant at which it is certain.

    Instants are ticks, and an instant is complete once no more of its events can come: when an event of a later
    instant arrives on either side, or when the caller says so (``until``). The order of events within one instant
    does not matter.
    """

    def __init__(
        self,
        relation: Relation,
        *,
        how: str = "inner",
        left: str = EVENTS,
        right: str = EVENTS,
        axis: Axis = Axis.INTEGER,
    ) -> None:
        check_options(how, left, right)
        self.how = how
        self.intake = Intake(left, right)
        self.decisions = decisions(relation.boxes(axis), left, right)
        self._agenda = Agenda(self.decisions, HOWS.index(how), (left, right))
        self._live = empty_maps(2, 64)
        self._pending = Agenda.nothing()
        self._waiters = np.empty((3, 64), np.int64)
        self._waiting = 0

    @property
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        return int(self._live[:, COUNT, 0].sum())

    def live_ids(self, side: int) -> Ids:
        """The ids of a side's rows that may still match."""
        ids: Ids = contents(self._live, side)[NAME]
        return ids

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        planned = int(self._pending[:, TIME].min()) if len(self._pending) else FOREVER
        return min(planned, self.intake.first_held, next_review(self._waiters, self._waiting))

    def snapshot(self) -> list[NDArray[np.int64]]:
        """The whole state as arrays, for `restore` on a join with the same options."""
        live = [contents(self._live, number) for number in (0, 1)]
        return [*self.intake.snapshot(), *live, self._pending, self._waiters[:, : self._waiting].copy()]

    def restore(self, state: list[NDArray[np.int64]]) -> None:
        """Go on from a snapshot."""
        *intake, left, right, pending, waiters = state
        self.intake.restore(intake)
        self._live = filled(left, right)
        self._pending = pending
        self._waiters, self._waiting = waiters.copy(), waiters.shape[1]

    def push(self, left: Events, right: Events, until: int | None = None) -> Emitted:
        """Take events of both sides; answer what is certain at the last complete instant.

        ``until`` promises that all events up to that instant have been given. Without it, the instants before the
        latest event are complete.
        """
        return self._advance(left, right, self.intake.complete(left, right, until))

    def close(self) -> Emitted:
        """End both streams: what is open never ends."""
        emitted = self._advance(Events.none(), Events.none(), FOREVER)
        if self.how not in ("left", "anti"):
            return emitted
        alive = contents(self._live, 0)
        alone = alive[NAME][alive[MARK] != MATCHED]
        return emitted._replace(
            rows=np.concatenate([emitted.rows, alone]),
            row_instants=np.concatenate([emitted.row_instants, np.full(alone.size, FOREVER)]),
        )

    def _advance(self, left: Events, right: Events, complete: int) -> Emitted:
        accepted, refused = self.intake.take(left, right, complete)
        entries = [self._pending]
        for number, side in enumerate(accepted):
            entries += self._agenda.starts(number, side.started)
            entries += self._agenda.ends(number, side.ended)
        return self._run(np.concatenate(entries), complete, refused)

    def _run(self, agenda: Entries, complete: int, refused: tuple[Refused, ...]) -> Emitted:
        agenda = agenda[np.argsort(agenda[:, TIME], kind="stable")]
        due = int(np.searchsorted(agenda[:, TIME], complete, side="right"))
        self._pending, agenda = agenda[due:].copy(), agenda[:due]
        self._live = with_room(self._live, len(agenda))
        self._make_room_to_wait()
        state = np.zeros(5, np.int64)
        state[FIRING], state[WAITERS] = -1, self._waiting
        parts, room, done = [], max(1024, 2 * len(agenda)), False
        while not done:
            room = max(room, (len(self.decisions) + 1) * (int(self._live[:, COUNT, 0].max()) + 2))
            out = np.empty((5, room), np.int64)
            how = HOWS.index(self.how)
            done = run(agenda, complete, self._live, self._agenda.rules, how, self._waiters, state, out)
            parts.append((*out[:ROW_NAME, : state[PAIRS]], *out[ROW_NAME:, : state[ROWS]]))
            state[PAIRS] = state[ROWS] = 0
            room *= 2
        self._waiting = int(state[WAITERS])
        lefts, rights, instants, names, row_instants = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return Emitted(lefts, rights, instants, names, row_instants, refused)

    def _make_room_to_wait(self) -> None:
        """Every live left row may have to wait."""
        needed = self._waiting + self._live.shape[2]
        if needed > self._waiters.shape[1]:
            larger = np.empty((3, 2 * needed), np.int64)
            larger[:, : self._waiting] = self._waiters[:, : self._waiting]
            self._waiters = larger
