"""From a pipeline file to its outputs and its report."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Cluster, Pipeline
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.engines.engine import Engine, require_pyspark
from timeloom.pipeline.outcome import Done, Silent
from timeloom.pipeline.outputs.reporting import ReportFiles
from timeloom.pipeline.outputs.staging import Outputs
from timeloom.pipeline.runner import Run, Watcher, open_sinks
from timeloom.pipeline.streams.check import load_file
from timeloom.pipeline.streams.models import Stream
from timeloom.report.record import RunRecord


def run_file(
    file: str,
    *,
    engine: str | None = None,
    cluster: Cluster | None = None,
    spark: Any = None,
    report: str | None = None,
    secrets: Secrets | None = None,
    watcher: Watcher | None = None,
) -> Done:
    """Check a pipeline file, run it, and write its report, also if the run fails.

    The report of a run that ends well is made before the outputs change, and changes together with them.

    Parameters
    ----------
    file
        The pipeline file, or that of a stream.
    engine
        ``"spark"`` or ``"local"``, whatever the file says.
    cluster
        Where Spark runs; what it leaves open is taken from the file.
    spark
        A session to use as it is: it is neither changed nor stopped. Without one, the run starts its own.
    report
        The directory of the report, whatever the file says.
    secrets
        The environment variables that the file may use; those of the process by default.
    watcher
        Is told what goes on.
    """
    secrets = secrets or Secrets()
    try:
        pipeline = load_file(file, secrets, engine)
        hide_settings(pipeline, cluster, secrets)
        if isinstance(pipeline, Stream):
            from timeloom.pipeline.streams.execution import run_stream

            return run_stream(
                pipeline, file, cluster=cluster, spark=spark, report=report, secrets=secrets, watcher=watcher
            )
        return _run(pipeline, file, cluster, spark, report, secrets, watcher or Silent())
    except BaseException as error:
        secrets.mask_error(error)
        raise


def hide_settings(pipeline: Pipeline | Stream, cluster: Cluster | None, secrets: Secrets) -> None:
    """Mask what addresses and settings hold of secrets, wherever they were given."""
    for place in (pipeline.spark, cluster):
        if place is not None:
            secrets.hide_address(place.remote)
            secrets.hide_settings(place.conf)
    if isinstance(pipeline, Pipeline):
        for source in pipeline.sources.values():
            secrets.hide_address(source.url)
            secrets.hide_settings(source.options)
        for store in pipeline.stores.values():
            secrets.hide_address(store.url)
            secrets.hide_settings(store.options)


def _run(
    pipeline: Pipeline,
    file: str,
    cluster: Cluster | None,
    spark: Any,
    report: str | None,
    secrets: Secrets,
    watcher: Watcher,
) -> Done:
    record = RunRecord(pipeline.name, Path(file).name, pipeline.engine, {})
    files = ReportFiles(report or pipeline.report_place)
    begun = time.perf_counter()
    chosen: Engine | None = None
    with Outputs() as outputs:
        try:
            targets = open_sinks(pipeline, outputs)
            files.open(outputs)
            chosen = make_engine(pipeline, cluster, spark, outputs.scratch)
            record.about = chosen.about
            run = Run(pipeline, chosen, record, watcher, outputs)
            run.go(targets)
            record.status, record.seconds = "done", round(time.perf_counter() - begun, 3)
            data = secrets.mask_all(record.as_data())
            files.stage(data)
            run.deliver()
            outputs.commit()
        except BaseException as error:
            record.status = "failed" if isinstance(error, Exception) else "interrupted"
            record.error, record.seconds = one_line(error), round(time.perf_counter() - begun, 3)
            files.tell_failure(secrets.mask_all(record.as_data()), outputs, error)
            raise
        finally:
            if chosen is not None:
                close_engine(chosen)
    return Done(data, files.page)


def close_engine(engine: Engine) -> None:
    """Give back what an engine holds. What fails here must hide no other error: the outputs are as they shall be."""
    try:
        engine.close()
    except Exception as error:
        warnings.warn(f"the engine cannot be closed: {one_line(error)}", stacklevel=2)


def make_engine(pipeline: Pipeline, cluster: Cluster | None, spark: Any, scratch: Callable[[], Path]) -> Engine:
    """Make the engine that a pipeline asks for; ``scratch`` gives it a directory until the run ends."""
    if pipeline.engine == "local":
        from timeloom.pipeline.engines.local import LocalEngine

        return LocalEngine()
    require_pyspark(", or run it on local tables: timeloom run --engine local")
    from timeloom.pipeline.engines.spark import SparkEngine

    return SparkEngine(spark, pipeline.spark.under(cluster), pipeline.name, scratch)
