"""What a fresh session is asked for first: each verb, and the SQL that users write for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

Frames = tuple[DataFrame, DataFrame]
WIDTH = 80
"""A good width of bins for the rows of the benchmark."""

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


class Case(NamedTuple):
    """A verb's call, what users write for it, and the columns by which both results are compared."""

    ours: Callable[[Any, DataFrame, DataFrame], DataFrame]
    theirs: Callable[[DataFrame, DataFrame], DataFrame]
    columns: str


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


def query(text: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
    """A query over both tables by name."""

    def run(left: DataFrame, right: DataFrame) -> DataFrame:
        left.createOrReplaceTempView("left_rows")
        right.createOrReplaceTempView("right_rows")
        return left.sparkSession.sql(text)

    return run


CASES = {
    "join": Case(
        lambda tl, left, right: tl.join(left, right, columns=["rid", "sid"]),
        lambda left, right: binned(left, right).select("rid", "sid"),
        "rid, sid",
    ),
    "join in slices": Case(
        lambda tl, left, right: tl.join(left, right, columns=["rid", "sid"], strategy="slices"),
        lambda left, right: binned(left, right).select("rid", "sid"),
        "rid, sid",
    ),
    "join on a key": Case(
        lambda tl, left, right: tl.join(left, right, on="key", columns=["rid", "sid"]), keyed, "rid, sid"
    ),
    "temporal_join": Case(
        lambda tl, left, right: tl.temporal_join(left.drop("key", "price"), right.drop("key", "price")),
        lambda left, right: binned(left, right).selectExpr(
            "rid", "sid", "greatest(r_start, s_start) AS start", "least(r_end, s_end) AS end"
        ),
        "rid, sid, start, end",
    ),
    "count_join": Case(
        lambda tl, left, right: tl.count_join(left, right).select("rid", "count"), counted, "rid, count"
    ),
    "top_k": Case(
        lambda tl, left, right: tl.top_k(left, right, 10).select("count"),
        lambda left, right: counted(left, right).orderBy("count", ascending=False).limit(10).select("count"),
        "count",
    ),
    "temporal_aggregate": Case(
        lambda tl, left, right: tl.temporal_aggregate(left, {"n": "count", "total": ("price", "sum")}),
        query(EVENTS),
        "start, end, n, total",
    ),
    "coalesce": Case(lambda tl, left, right: tl.coalesce(left, by="key"), query(ISLANDS), "key, start, end"),
    "gaps": Case(lambda tl, left, right: tl.gaps(left), query(HOLES), "start, end"),
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
    ),
}
