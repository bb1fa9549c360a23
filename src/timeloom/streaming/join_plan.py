"""What tasks of a streaming join on Spark need to know: the join, its keys, columns and types."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import types as T  # noqa: N812

from timeloom.model.relation import Relation
from timeloom.model.ticks import Axis
from timeloom.streaming.wanted import Wanted

if TYPE_CHECKING:
    from timeloom.streaming.answering import Answers
    from timeloom.streaming.operator import EndpointJoin


@dataclass(frozen=True)
class Plan:
    """What the processor needs to know: the join, its keys, the columns that it carries, and of which types all are.

    ``integers`` says on which sides ids are integers; ``types`` has the types of the keys and of both ids. ``payload``
    has the columns of either side, and ``kinds`` the types of those that the condition reads, by their names in it.
    """

    relation: Relation
    how: str
    arrivals: tuple[str, str]
    keys: tuple[str, ...]
    integers: tuple[bool, bool] = (False, False)
    types: tuple[str, ...] = ()
    axis: Axis = Axis.ZONED
    asked: Wanted | None = None
    payload: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    kinds: tuple[tuple[str, T.DataType], ...] = ()

    @property
    def wanted(self) -> Wanted:
        """Which columns results have, and what is asked of pairs."""
        return self.asked or Wanted(self.how, self.keys)

    @property
    def numbered(self) -> bool:
        """Whether rows carry more than their ids."""
        return self.wanted.carries(*self.payload)

    def join(self) -> "EndpointJoin":
        """A join without state."""
        from timeloom.streaming.operator import EndpointJoin

        left, right = self.arrivals
        wanted = self.wanted
        return EndpointJoin(
            self.relation,
            how=wanted.kind,
            left=left,
            right=right,
            axis=self.axis,
            numbered=self.numbered,
            every=wanted.judges,
        )

    def answers(self) -> "Answers":
        """How what is certain becomes results."""
        from timeloom.streaming.answering import Answers

        return Answers(self.wanted, self.payload, self.kinds, self.arrivals, self.axis)

    @property
    def query(self) -> str:
        """What makes a state one of this query: the join, the keys, all types, and the columns that rows carry."""
        wanted = self.wanted
        query = f"{self.join().query}, keys {list(self.keys)}, types of keys and ids {list(self.types)}"
        if not self.numbered:
            return query
        layout, where = wanted.layout(*self.payload), None if wanted.where is None else wanted.where.text
        return f"{query}, {wanted.how} where {where}, carrying {[layout.carried(side) for side in (0, 1)]}"
