"""The same measures of a DataFrame: aggregates of a few hundred rows, nothing is collected."""

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from timeloom.engines.spark.columns.ticks import literal, period_columns
from timeloom.engines.tables.verdicts import VALID, judge_in_sql
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, Axis
from timeloom.plots.spark import MOST_NUMBER, quoted, spark_bins
from timeloom.report.pictures.cells import Cells, day_ticks
from timeloom.report.pictures.measures import AS_POINTS, Bands, Extent


class SparkMeasures:
    """A DataFrame, read anew by each measure: what was written, not what it was computed from."""

    def __init__(self, df: DataFrame) -> None:
        self.df = df

    def _ticks(self, period: Period, *more: str) -> tuple[DataFrame, Axis]:
        """Rows with start ``s``, end ``e`` and whether their period is ``fit``."""
        schema = self.df.schema
        found = period_columns({name: quoted(name) for name in schema.names}, schema, period, "result")
        end, verdict = judge_in_sql(found.start, found.end, found.raw_start, found.raw_end, AS_POINTS)
        return self.df.selectExpr(f"{found.start} AS s", f"{end} AS e", f"{verdict} = {VALID} AS fit", *more), (
            found.kind.type.axis
        )

    def extent(self, period: Period) -> Extent | None:
        """The time that it covers."""
        rows, axis = self._ticks(period)
        known = f"max(CASE WHEN NOT fit THEN NULL WHEN e = {literal(FOREVER)} THEN s + 1 ELSE e END)"
        asked = ("count_if(fit)", "count_if(NOT fit)", "min(CASE WHEN fit THEN s END)", known)
        row = rows.selectExpr(*asked, f"count_if(fit AND e = {literal(FOREVER)})").toArrow().to_pylist()[0]
        fit, without, first, last, open_ends = row.values()
        return Extent.of(fit, without, first, last, open_ends, axis) if fit else None

    def bands(self, period: Period, value: str, extent: Extent) -> Bands | None:
        """A value over time, in parts."""
        rows, axis = self._ticks(period, f"CAST({quoted(value)} AS DOUBLE) AS v")
        known = rows.where(f"fit AND v IS NOT NULL AND abs(v) < {MOST_NUMBER}").selectExpr(
            "v", "s", f"least(e, {literal(extent.last)}) AS e"
        )
        cells = Cells.over(extent.first, extent.last, axis)
        spread = known.selectExpr("*", f"explode(sequence({_cell('s', cells)}, {_cell('e - 1L', cells)})) AS cell")
        low = f"({float(cells.origin)!r}D + {float(cells.width)!r}D * cell)"
        time = f"(least(CAST(e AS DOUBLE), {low} + {float(cells.width)!r}D) - greatest(CAST(s AS DOUBLE), {low}))"
        asked = {
            "least": "min(v)",
            "greatest": "max(v)",
            "mean": f"coalesce(try_divide(sum(v * {time}), sum({time})), (min(v) + max(v)) / 2)",
            "top": "max_by(struct(v, s, e), struct(v, -CAST(s AS DECIMAL(20))))",
        }
        grouped = spread.groupBy("cell").agg(*(F.expr(text).alias(name) for name, text in asked.items()))
        found = grouped.orderBy("cell").toArrow().to_pydict()
        if not found["cell"]:
            return None
        best = max(found["top"], key=lambda top: (top["v"], -top["s"]))
        starts, ends = cells.bounds(np.array(found["cell"]))
        top = best["v"], best["s"], best["e"]
        return Bands(starts, ends, found["least"], found["greatest"], found["mean"], top, cells.name)

    def touching(self, period: Period, cells: Cells) -> list[int]:
        """How many rows touch each part."""
        rows, _ = self._ticks(period)
        last = f"least(e, {literal(min(cells.origin + cells.width * cells.count, FOREVER))}) - 1L"
        both = f"map({_cell('s', cells)}, 1, {_cell(last, cells)} + 1, -1)"
        ends = rows.where("fit").selectExpr(f"explode({both}) AS (cell, n)")
        found = ends.groupBy("cell").agg(F.sum("n").alias("n")).toArrow().to_pylist()
        change = [0] * (cells.count + 1)
        for row in found:
            change[row["cell"]] = row["n"]
        return [int(count) for count in np.cumsum(change)[:-1].tolist()]

    def begins(self, period: Period, extent: Extent) -> dict[int, int]:
        """How many rows begin on each day."""
        rows, axis = self._ticks(period)
        day = f"CAST(floor(s / CAST({day_ticks(axis)} AS DECIMAL(20))) AS BIGINT) AS day"
        found = rows.where("fit").selectExpr(day).groupBy("day").count().toArrow().to_pylist()
        return {row["day"]: row["count"] for row in sorted(found, key=lambda row: row["day"])}

    def bins(self, value: str) -> tuple[list[int], list[float]]:
        """How many rows have a value in each range."""
        counts, bounds = spark_bins(self.df, value)
        return counts, bounds.tolist() if counts else []


def _cell(tick: str, cells: Cells) -> str:
    """The part in which a tick lies, in SQL; differences are decimals, so that none is too large."""
    apart = f"(CAST({tick} AS DECIMAL(20)) - CAST({literal(cells.origin)} AS DECIMAL(20)))"
    return f"CAST({apart} DIV CAST({cells.width} AS DECIMAL(20)) AS INT)"
