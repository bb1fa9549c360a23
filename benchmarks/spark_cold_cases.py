"""What a fresh session is asked for first: each verb, and the SQL that users write for it."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Frames = tuple[DataFrame, DataFrame]
WIDTH = 80
"""A good width of bins for the rows of the benchmark."""

FEW, CORES = 10**5, 2
"""Up to so many rows one task takes a table, and more are shared by the tasks that run at once."""

EVENTS = (
    "WITH events AS (SELECT start AS t, 1L AS d, price AS p FROM left_rows "
    "UNION ALL SELECT end, -1L, -price FROM left_rows), "
    "changes AS (SELECT t, sum(d) AS d, sum(p) AS p FROM events GROUP BY t), "
    "sums AS (SELECT t AS start, lead(t) OVER (ORDER BY t) AS end, sum(d) OVER running AS n, "
    "sum(p) OVER running AS total FROM changes WINDOW running AS (ORDER BY t ROWS UNBOUNDED PRECEDING)) "
    "SELECT start, end, n, total FROM sums WHERE n > 0"
)
ISLANDS = (
    "WITH seen AS (SELECT key, start, end, max(end) OVER (PARTITION BY key ORDER BY start "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM left_rows), "
    "numbered AS (SELECT *, sum(CASE WHEN reached >= start THEN 0 ELSE 1 END) OVER (PARTITION BY key ORDER BY start "
    "ROWS UNBOUNDED PRECEDING) AS island FROM seen) "
    "SELECT key, min(start) AS start, max(end) AS end FROM numbered GROUP BY key, island"
)
HOLES = (
    "WITH seen AS (SELECT start, max(end) OVER (ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) "
    "AS reached FROM left_rows) SELECT reached AS start, start AS end FROM seen WHERE reached < start"
)
LATEST = (
    "WITH both AS (SELECT start AS at, 1 AS side, rid, CAST(NULL AS BIGINT) AS sid FROM left_rows "
    "UNION ALL SELECT start, 0, NULL, sid FROM right_rows), "
    "filled AS (SELECT side, rid, last(sid, true) OVER (ORDER BY at, side, sid ROWS UNBOUNDED PRECEDING) AS sid "
    "FROM both) SELECT rid, sid FROM filled WHERE side = 1"
)
BEFORE = (
    "WITH both AS (SELECT start AS at, 1 AS side, rid, CAST(NULL AS BIGINT) AS ended FROM left_rows "
    "UNION ALL SELECT end, 0, NULL, end FROM right_rows), "
    "filled AS (SELECT side, rid, at, max(ended) OVER (ORDER BY at, side ROWS UNBOUNDED PRECEDING) AS ended FROM both) "
    "SELECT rid, at - ended AS distance FROM filled WHERE side = 1 AND ended IS NOT NULL"
)
PIECES = (
    "WITH cells AS (SELECT rid, start, end, explode(sequence(start div 50, (end - 1) div 50)) AS cell FROM left_rows) "
    "SELECT rid, greatest(start, cell * 50) AS start, least(end, cell * 50 + 50) AS end FROM cells"
)
OVERLAPPING = (
    "WITH seen AS (SELECT key, start, max(end) OVER (PARTITION BY key ORDER BY start, end "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM left_rows) "
    "SELECT DISTINCT key FROM seen WHERE start < reached"
)
EITHER = ISLANDS.replace(
    "FROM left_rows)",
    "FROM (SELECT key, start, end FROM left_rows UNION ALL SELECT key, start, end FROM right_rows))",
)
ALONE = (
    "WITH met AS (SELECT l.rid, l.start, l.end, greatest(l.start, r.start) AS since, least(l.end, r.end) AS until "
    "FROM left_rows l JOIN right_rows r ON l.key = r.key AND l.start < r.end AND r.start < l.end), "
    "seen AS (SELECT *, max(until) OVER (PARTITION BY rid ORDER BY since, until "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM met) "
    "SELECT rid, coalesce(reached, start) AS start, since AS end FROM seen WHERE since > coalesce(reached, start) "
    "UNION ALL SELECT rid, max(until), max(end) FROM met GROUP BY rid HAVING max(until) < max(end) "
    "UNION ALL SELECT rid, start, end FROM left_rows LEFT ANTI JOIN met USING (rid)"
)
THREE = (
    "SELECT a.rid AS a_rid, b.sid AS b_sid, c.sid AS c_sid FROM left_rows a "
    "JOIN right_rows b ON a.key = b.key AND a.start < b.end AND b.start < a.end "
    "JOIN right_rows c ON a.key = c.key AND a.start < c.end AND c.start < a.end"
)
WINDOWS = (
    "WITH steps AS (SELECT id AS step, 100 + 10 * ((id + 1) div 2) AS sys, 500 + 10 * (id div 2) AS app "
    "FROM range(10)) "
    "SELECT step, count(rid) AS n FROM steps LEFT JOIN left_rows "
    "ON start <= sys AND end > sys AND price <= app AND price + 50 > app GROUP BY step"
)


class Case(NamedTuple):
    """A verb's call, what users write for it, and the columns by which both results are compared.

    ``sent`` are the columns of each table that a plan with tasks in Python must send to these; none if it needs none.
    """

    ours: Callable[[Any, DataFrame, DataFrame], DataFrame]
    theirs: Callable[[DataFrame, DataFrame], DataFrame]
    columns: str
    sent: tuple[str, ...] = ()

    def floor(self, left: DataFrame, right: DataFrame, rows: int) -> DataFrame:
        """The same rows sent to tasks that do nothing: one, or as many as run at once, behind an exchange."""
        tables = [side.select(*names.split(", ")) for side, names in zip((left, right), self.sent, strict=False)]
        return unchanged(reduce(lambda one, other: one.unionAll(other), tables), 1 if rows <= FEW else CORES)


def binned(left: DataFrame, right: DataFrame) -> DataFrame:
    """Pairs by bins: each counts in the bin in which the later of its rows starts."""
    bins = f"explode(sequence(start div {WIDTH}, (end - 1) div {WIDTH})) AS bin"
    r = left.selectExpr("rid", "start AS r_start", "end AS r_end", bins)
    s = right.selectExpr("sid", "start AS s_start", "end AS s_end", bins)
    inside = f"r_start < s_end AND s_start < r_end AND greatest(r_start, s_start) div {WIDTH} = bin"
    return r.join(s, "bin").where(inside)


def keyed(left: DataFrame, right: DataFrame) -> DataFrame:
    """Pairs of equal keys."""
    s = right.selectExpr("sid", "key", "start AS s_start", "end AS s_end")
    return left.join(s, "key").where("start < s_end AND s_start < end").select("rid", "sid")


def counted(left: DataFrame, right: DataFrame) -> DataFrame:
    """How many pairs each left row is in, be it none."""
    pairs = binned(left, right).groupBy("rid").count()
    return left.join(pairs, "rid", "left").selectExpr("rid", "coalesce(count, 0) AS count")


def first_free(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of one key with the first lane that is free: SQL has no word for it."""
    ends: list[int] = []
    found = []
    for start, end in zip(rows["start"], rows["end"], strict=True):
        lane = next((number for number, until in enumerate(ends) if until <= start), len(ends))
        ends[lane : lane + 1] = [end]
        found.append(lane)
    return rows.assign(lane=found)[["key", "lane"]]


def laid_out(left: DataFrame, right: DataFrame) -> DataFrame:
    """How many lanes each key needs."""

    def placed(rows: "pd.DataFrame") -> "pd.DataFrame":
        return first_free(rows.sort_values(["start", "end"]))

    found = left.select("key", "start", "end").groupBy("key").applyInPandas(placed, "key long, lane long")
    return found.groupBy("key").agg({"lane": "max"}).toDF("key", "lanes")


def stacked(left: DataFrame, right: DataFrame) -> DataFrame:
    """The rows of both tables, as Spark reads them."""
    return left.select("rid", "start", "end").unionAll(right.select("sid", "start", "end"))


def unchanged(rows: DataFrame, tasks: int = 1) -> DataFrame:
    """The rows through tasks of Python that do nothing: what no plan with tasks can be below."""

    def passed(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":  # sent by value: imports nothing
        yield from batches

    return (rows.coalesce(1) if tasks == 1 else rows.repartition(tasks)).mapInArrow(passed, rows.schema)


def query(text: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
    """A query over both tables by name."""

    def run(left: DataFrame, right: DataFrame) -> DataFrame:
        left.createOrReplaceTempView("left_rows")
        right.createOrReplaceTempView("right_rows")
        return left.sparkSession.sql(text)

    return run


CASES = {
    "floor of one table": Case(
        lambda tl, left, right: unchanged(left.select("rid", "start", "end")),
        lambda left, right: left.select("rid", "start", "end"),
        "rid, start, end",
    ),
    "floor of two tables": Case(lambda tl, left, right: unchanged(stacked(left, right)), stacked, "rid, start, end"),
    "join": Case(
        lambda tl, left, right: tl.join(left, right, columns=["rid", "sid"]),
        lambda left, right: binned(left, right).select("rid", "sid"),
        "rid, sid",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "join in slices": Case(
        lambda tl, left, right: tl.join(left, right, columns=["rid", "sid"], strategy="slices"),
        lambda left, right: binned(left, right).select("rid", "sid"),
        "rid, sid",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "join on a key": Case(
        lambda tl, left, right: tl.join(left, right, on="key", columns=["rid", "sid"]),
        keyed,
        "rid, sid",
        sent=("rid, key, start, end", "sid, key, start, end"),
    ),
    "temporal_join": Case(
        lambda tl, left, right: tl.temporal_join(left.drop("key", "price"), right.drop("key", "price")),
        lambda left, right: binned(left, right).selectExpr(
            "rid", "sid", "greatest(r_start, s_start) AS start", "least(r_end, s_end) AS end"
        ),
        "rid, sid, start, end",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "count_join": Case(
        lambda tl, left, right: tl.count_join(left, right).select("rid", "count"),
        counted,
        "rid, count",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "top_k": Case(
        lambda tl, left, right: tl.top_k(left, right, 10).select("count"),
        lambda left, right: counted(left, right).orderBy("count", ascending=False).limit(10).select("count"),
        "count",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "temporal_aggregate": Case(
        lambda tl, left, right: tl.temporal_aggregate(left, {"n": "count", "total": ("price", "sum")}),
        query(EVENTS),
        "start, end, n, total",
        sent=("start, end, price",),
    ),
    "coalesce": Case(
        lambda tl, left, right: tl.coalesce(left, by="key"),
        query(ISLANDS),
        "key, start, end",
        sent=("key, start, end",),
    ),
    "gaps": Case(lambda tl, left, right: tl.gaps(left), query(HOLES), "start, end", sent=("start, end",)),
    "split": Case(
        lambda tl, left, right: tl.split(left.select("rid", "start", "end"), every=50),
        query(PIECES),
        "rid, start, end",
    ),
    "nearest": Case(
        lambda tl, left, right: tl.nearest(left, right, direction="backward", columns=["rid", "distance"]),
        query(BEFORE),
        "rid, distance",
        sent=("rid, start, end", "sid, start, end"),
    ),
    "temporal_antijoin": Case(
        lambda tl, left, right: tl.temporal_antijoin(left, right, on="key").select("rid", "start", "end"),
        query(ALONE),
        "rid, start, end",
        sent=("rid, key, start, end", "sid, key, start, end"),
    ),
    "temporal_union": Case(
        lambda tl, left, right: tl.temporal_union(*(side.select("key", "start", "end") for side in (left, right))),
        query(EITHER),
        "key, start, end",
        sent=("key, start, end", "key, start, end"),
    ),
    "lanes": Case(
        lambda tl, left, right: tl.lanes(left, by="key").groupBy("key").agg({"lane": "max"}).toDF("key", "lanes"),
        laid_out,
        "key, lanes",
        sent=("key, start, end",),
    ),
    "check": Case(
        lambda tl, left, right: tl.check(left, by="key").select("key").distinct(),
        query(OVERLAPPING),
        "key",
        sent=("key, start, end",),
    ),
    "pattern": Case(
        lambda tl, left, right: tl.pattern(
            {"a": left, "b": right, "c": right},
            [("a", "intersects", "b"), ("a", "intersects", "c")],
            on="key",
            columns=["a_rid", "b_sid", "c_sid"],
        ),
        query(THREE),
        "a_rid, b_sid, c_sid",
        sent=("rid, key, start, end", "sid, key, start, end"),
    ),
    "sliding_windows": Case(
        lambda tl, left, right: tl.sliding_windows(
            left.selectExpr(
                "rid", "start AS sys_start", "end AS sys_end", "price AS app_start", "price + 50 AS app_end"
            ),
            tl.Slide(100, 0, 10),
            tl.Slide(500, 0, 10),
            steps=9,
        ),
        query(WINDOWS),
        "step, n",
    ),
    "stab": Case(
        lambda tl, left, right: tl.stab(left, at=500).select("rid"),
        lambda left, right: left.where("start <= 500 AND end > 500").select("rid"),
        "rid",
    ),
    "as_of": Case(
        lambda tl, left, right: tl.as_of(
            left.selectExpr("rid", "start AS at"), right.selectExpr("sid", "start AS at")
        ).select("rid", "sid"),
        query(LATEST),
        "rid, sid",
        sent=("rid, start", "sid, start"),
    ),
}
