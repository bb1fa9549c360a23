"""IEJoin, as DuckDB has it: joins on inequalities only, by sorted permutations and bit arrays."""

import duckdb
import numpy as np
import pyarrow as pa

CONDITIONS = {
    "iseql.start_preceding": "l.s <= r.s AND r.s < l.e",
    "iseql.contains": "l.s <= r.s AND r.e <= l.e",
    "iseql.before": "l.e <= r.s AND r.s <= l.e + {delta}",
}


class InequalityJoins:
    """Two tables in a session with one thread, in which no other operator is chosen."""

    def __init__(self, left: tuple, right: tuple) -> None:
        self.session = duckdb.connect(config={"threads": 1})
        self.session.sql("SET merge_join_threshold = 0")
        self.session.sql("SET nested_loop_join_threshold = 0")
        for name, side in (("l", left), ("r", right)):
            self.session.register("rows", pa.table({"s": side[0], "e": side[1], "id": np.arange(side[0].size)}))
            self.session.sql(f"CREATE TABLE {name} AS FROM rows")
            self.session.unregister("rows")

    def query(self, relation: str, delta: int) -> str:
        return f"FROM l JOIN r ON {CONDITIONS[relation].format(delta=delta)}"

    def operator(self, relation: str, delta: int = 0) -> str:
        """The plan, to see that it is IEJoin."""
        found = self.session.sql(f"EXPLAIN SELECT sum(l.s) {self.query(relation, delta)}").fetchall()
        return str(found[0][1])

    def summed(self, relation: str, delta: int = 0) -> tuple[int, int]:
        """The number of pairs, and the sum of the left starts: the work of the paper's experiments."""
        row = self.session.sql(f"SELECT count(*), coalesce(sum(l.s), 0) {self.query(relation, delta)}").fetchall()[0]
        return int(row[0]), int(row[1])
