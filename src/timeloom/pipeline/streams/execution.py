"""From a stream's file to its results and its report."""

import time
from pathlib import Path
from typing import Any

from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Cluster
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.engines.engine import require_pyspark
from timeloom.pipeline.outcome import Done, Silent
from timeloom.pipeline.signals import StopSignals
from timeloom.pipeline.streams.models import KAFKA, KAFKA_TOPICS, Stream, StreamSource
from timeloom.report.record import RunRecord, SinkRecord, SourceRecord, StepRecord
from timeloom.report.write import write_report

SAMPLE_ROWS = 10


class Quiet(Silent):
    """A watcher of streams that says nothing."""

    def go_on(self, text: str) -> None:
        """It goes on."""


def run_stream(
    stream: Stream,
    file: str,
    *,
    cluster: Cluster | None = None,
    spark: Any = None,
    report: str | None = None,
    secrets: Secrets | None = None,
    watcher: Any = None,
) -> Done:
    """Run a checked stream until its data end or a signal stops it, and write its report, also if it fails.

    Parameters
    ----------
    stream, file
        The stream, as `stream_check.load_file` reads it, and the file that it comes from.
    cluster
        Where Spark runs; what it leaves open is taken from the file.
    spark
        A session to use as it is: it is neither changed nor stopped. Without one, the run starts its own.
    report
        The directory of the report, whatever the file says.
    secrets
        The environment variables that the file uses.
    watcher
        Is told what goes on.
    """
    with StopSignals() as signals:
        return _run(stream, file, cluster, spark, report, secrets or Secrets(), watcher or Quiet(), signals)


def _run(
    stream: Stream,
    file: str,
    cluster: Cluster | None,
    spark: Any,
    report: str | None,
    secrets: Secrets,
    watcher: Any,
    signals: StopSignals,
) -> Done:
    """The same, while signals are heard: from before the session starts until the report is written."""
    require_pyspark()
    from timeloom.pipeline.engines.session import start_session
    from timeloom.pipeline.streams.runner import StreamRun
    from timeloom.streaming.structured import PROVIDER, ROCKSDB

    place = report or stream.place(stream.report or f"{stream.name}-report")
    record = RunRecord(stream.name, Path(file).name, "spark", {}, kind="stream")
    begun = time.perf_counter()
    session, run = spark, None
    try:
        if session is None:
            merged = stream.spark.under(cluster)
            session = start_session(merged.model_copy(update={"conf": {PROVIDER: ROCKSDB, **merged.conf}}), stream.name)
        record.about = {"spark": session.version}
        run = StreamRun(stream, session, watcher)
        run.go(signals)
        record.status = "done"
    except BaseException as error:
        record.status = "failed" if isinstance(error, Exception) else "interrupted"
        record.error = one_line(error)
        raise
    finally:
        record.seconds = round(time.perf_counter() - begun, 3)
        if run is not None:
            _fill(record, stream, run)
        if spark is None and session is not None:
            session.stop()
        data = secrets.mask_all(record.as_data())
        page = write_report(data, place)
    return Done(data, page)


def _fill(record: RunRecord, stream: Stream, run: Any) -> None:
    """Tell of the sources, of what was made of them, and of what was written."""
    from timeloom.pipeline.runner import size_of
    from timeloom.pipeline.tables.samples import show_sample

    progress = run.progress
    for number, (side, source) in enumerate(stream.sources.items()):
        events = progress.events[number] if number < len(progress.events) else 0
        where = _whence(stream, source)
        refused = progress.refused_of.get(side, 0)
        note = f"{refused:,} of these events refused" if refused else ""
        told = SourceRecord(side, where, source.format, events, events, note=note, seconds=record.seconds)
        record.sources.append(told)
    names = list(stream.sources)
    step = StepRecord(stream.verb, f"stream_{stream.verb}", names, _call(stream), progress.results, progress.refused)
    step.seconds, step.plan = record.seconds, {**progress.facts(), "why": []}
    step.note = "; ".join(f"{count:,} × {reason}" for reason, count in sorted(progress.reasons.items()))
    record.steps.append(step)
    sink = stream.sink
    place = stream.place(sink.path) if sink.path else sink.table or "the screen"
    written = SinkRecord(stream.verb, stream.verb, place, sink.format, "append", progress.results + progress.refused)
    written.refused = progress.refused
    written.seconds, written.columns = record.seconds, run.columns
    if record.status == "done" and (sample := run.sample(SAMPLE_ROWS)) is not None:
        show_sample(written, sample, [])
    if sink.path and "://" not in place:
        written.bytes = size_of(Path(place))
        written.place = stream.told(place)
    record.sinks.append(written)
    record.hints += [hint for hint in (held_back(stream, progress),) if hint]


def _whence(stream: Stream, source: StreamSource) -> str:
    """Where events come from, in words."""
    if source.path:
        return stream.told(stream.place(source.path))
    topics = [str(source.options[name]) for name in KAFKA_TOPICS if name in source.options]
    return topics[0] if source.format == KAFKA else "clockwork"


def held_back(stream: Stream, progress: Any) -> str:
    """What to tell of a run that takes what is there and stops: the newest events are not decided yet."""
    if stream.trigger is not None or not progress.behind:
        return ""
    until = progress.watermark.isoformat(" ", "seconds").removesuffix("+00:00")
    return (
        f"Results that depend on the last {progress.behind} before the newest event are held back: all is certain up "
        f"to the watermark, {until} UTC, and events may still come after it. They leave in a later run, once newer "
        "events have come; nothing is lost."
    )


def _call(stream: Stream) -> dict[str, str]:
    options = stream.call.model_dump(exclude_defaults=True)
    trigger = "available now" if stream.trigger is None else f"every {stream.trigger}"
    return {name: str(value) for name, value in options.items()} | {"trigger": trigger}
