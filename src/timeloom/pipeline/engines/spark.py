"""Pipelines on Spark."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import CharType, DataType, StringType, VarcharType

import timeloom
from timeloom.engines.spark.cluster.interpreter import use_own_python
from timeloom.engines.tables.frames import require_columns
from timeloom.errors import StorageError
from timeloom.pipeline.definition.models import Cluster, Sink, Source
from timeloom.pipeline.definition.paths import address_of
from timeloom.pipeline.definition.queries import is_temporal
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.engine import Counts, Judged
from timeloom.pipeline.engines.session import spark_errors, start_session
from timeloom.pipeline.engines.spark_sources import flag, quoted, read_source, spark_form
from timeloom.pipeline.engines.stores import deliver, require_classes
from timeloom.pipeline.tables.listing import Listing, list_files
from timeloom.pipeline.tables.partitions import DEFAULT_PARTITION, check_columns, unfit_texts
from timeloom.report.pictures.spark import SparkMeasures


class SparkEngine:
    """Frames are Spark DataFrames. A session that was given is neither changed nor stopped."""

    name = "spark"
    reads_late = True

    def __init__(self, spark: SparkSession | None, cluster: Cluster, name: str, scratch: Callable[[], Path]) -> None:
        self.spark = spark or start_session(cluster, name)
        use_own_python(self.spark)
        self.own = spark is None
        self.scratch = scratch
        self.snapshots = 0
        self.views: list[str] = []
        where = cluster.remote or cluster.master or "local[*]"
        self.about = {"timeloom": timeloom.__version__, "spark": self.spark.version}
        if self.own:
            self.about["on"] = where

    def listing(self, place: str) -> Listing:
        """List the files of a source; by Spark, if it is not on this machine or is a pattern."""
        if os.path.exists(place):
            return list_files(place)
        try:
            reader = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
            files = reader.load(address_of(place)).select("path", "length", "modificationTime").collect()
        except PySparkException:
            return {}  # what cannot be listed is told when it is read
        return {row[0]: (row[1], row[2]) for row in files}

    def judge(self, name: str, source: Source, place: str) -> Judged:
        """Read a source and tell its rows apart; one job counts them by reason."""
        with spark_errors(f"source {name!r} cannot be read"):
            raw = read_source(self.spark, source, place)
            if source.format in ("jdbc", "table"):
                raw = self._snapshot(raw)
            found = dict(raw.dtypes)
            needed = [*(source.columns or ()), *source.period_columns, *source.never_null]
            require_columns(list(found), needed, name)
            flagged, reason = flag(name, source, raw, found)
            counts = {row[0]: row[1] for row in flagged.groupBy(reason).count().collect()}
        rows = sum(counts.values())
        counts.pop(None, None)
        fit = flagged.where(F.col(reason).isNull()).select(
            *(F.col(f"fit {number}").alias(column) for number, column in enumerate(source.columns or found))
        )
        unfit = flagged.where(F.col(reason).isNotNull()).select(
            *(F.col(f"raw {number}").alias(column) for number, column in enumerate(found)), reason
        )
        return Judged(fit, unfit, reason, rows, dict(sorted(counts.items())))

    def only(self, judged: Judged, reasons: list[str]) -> DataFrame:
        """The unfit rows with one of these reasons."""
        rows: DataFrame = judged.unfit
        return rows.where(F.col(judged.reason).isin(reasons) if reasons else F.lit(False))

    def query(self, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        """Run Spark SQL, or a temporal query in Timeloom. Views last as long as the run: Connect looks them up late."""
        if is_temporal(text):
            answer: DataFrame = timeloom.sql(text, **tables)
            return answer
        with spark_errors("the query failed"):
            for name, frame in tables.items():
                if name not in self.views:
                    frame.createTempView(name)
                    self.views.append(name)
            return self.spark.sql(text)

    def settle(self, frame: DataFrame) -> tuple[DataFrame, int]:
        """Compute a result once for all who use it."""
        with spark_errors("the step failed"):
            kept = self._snapshot(frame)
            return kept, kept.count()

    def _snapshot(self, frame: DataFrame) -> DataFrame:
        """Write a frame to the run's scratch space: a cache would compute what it loses again, perhaps differently."""
        self.snapshots += 1
        place = self.scratch() / f"snapshot-{self.snapshots}"
        try:
            frame.write.mode("error").parquet(place.as_uri())
        except AnalysisException:  # a type that Parquet does not have
            return frame.localCheckpoint(eager=True)
        require_shared(place)
        return self.spark.read.schema(frame.schema).parquet(place.as_uri())

    def columns(self, frame: DataFrame) -> list[str]:
        """The names of a frame's columns."""
        return list(frame.columns)

    def write(self, frame: DataFrame, sink: Sink, staging: Path) -> Counts:
        """Write a directory, counting the rows on their way, and count what is in it."""
        with spark_errors(f"sink {sink.path!r} cannot be written"):
            columns = self.columns(frame)
            require_columns(columns, sink.partition_by, sink.table)
            check_columns(columns, sink.partition_by, sink.table)
            observed, meant = self._observed(frame, sink)
            form = spark_form(sink.format)
            writer = observed.write.format(form.name).mode("error").options(**form.layout, **form.writing)
            writer.options(**sink.options).partitionBy(*sink.partition_by).save(staging.as_uri())
            require_shared(staging)
            return Counts(meant(), self._staged(frame, sink, staging).count())

    def _observed(self, frame: DataFrame, sink: Sink) -> tuple[DataFrame, Callable[[], int]]:
        """A frame that counts its rows while they are written, and the count; texts that are no folders are refused."""
        seen = Observation()
        texts = [field.name for field in frame.schema if field.name in sink.partition_by and is_text(field.dataType)]
        metrics = [F.count(F.lit(1)).alias("rows")]
        for number, name in enumerate(texts):
            metrics.append(F.count_if(quoted(name) == "").alias(f"empty {number}"))
            metrics.append(F.count_if(quoted(name) == DEFAULT_PARTITION).alias(f"default {number}"))

        def meant() -> int:
            found = seen.get
            for number, name in enumerate(texts):
                empty, default = found[f"empty {number}"], found[f"default {number}"]
                if empty or default:
                    raise unfit_texts(name, empty, default)
            return int(found["rows"])

        return frame.observe(seen, *metrics), meant

    def sample(self, frame: DataFrame, sink: Sink | None, staging: Path | None, rows: int) -> pa.Table:
        """The first rows of what was written, or of a settled frame."""
        if sink is None or staging is None:
            return frame.limit(rows).toArrow()
        with spark_errors(f"sink {sink.path!r} cannot be read back"):
            return self._staged(frame, sink, staging).limit(rows).toArrow()

    def measures(self, frame: DataFrame, sink: Sink | None, staging: Path | None) -> SparkMeasures:
        """What was written: measuring it computes nothing again."""
        return SparkMeasures(frame if sink is None or staging is None else self._staged(frame, sink, staging))

    def require(self, store: Store) -> None:
        """Refuse a store whose classes Spark does not have."""
        require_classes(self.spark, store)

    def deliver(self, frame: DataFrame, store: Store, place: str, rows: int) -> None:
        """Write a settled frame to a store."""
        deliver(self.spark, frame, store, place, rows)

    def _staged(self, frame: DataFrame, sink: Sink, staging: Path) -> DataFrame:
        form = spark_form(sink.format)
        reader = self.spark.read.format(form.name).schema(frame.schema).options(**form.layout)
        staged = reader.options(**sink.options).load(staging.as_uri())
        return staged.select(*(quoted(name) for name in frame.columns))

    def close(self) -> None:
        """Give back what the run holds; a session of its own ends."""
        if self.own:
            self.spark.stop()
            return
        for view in self.views:
            self.spark.catalog.dropTempView(view)


def is_text(kind: DataType) -> bool:
    """Tell texts from other types."""
    return isinstance(kind, StringType | CharType | VarcharType)


def require_shared(place: Path) -> None:
    """Make sure that what Spark has written is here, too."""
    if not place.is_dir():
        raise StorageError(
            f"{str(place.parent)!r} is not the same directory here and where Spark runs; take a path that both can see"
        )
