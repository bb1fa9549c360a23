"""Runs a checked pipeline: sources in, steps, sinks out, all at once or not at all, and a record of everything."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from timeloom.engines.tables.validity import Quarantined
from timeloom.engines.tables.verdicts import EMPTY, reason_texts
from timeloom.errors import DroppedRowsWarning, InvalidInputError, StorageError, TimeloomError
from timeloom.model.period import Period
from timeloom.operators.explain import explain
from timeloom.operators.registry import verbs
from timeloom.pipeline.definition.calls import Periods, Shown, call_options, needed_steps, result_periods, uses
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Pipeline, Sink, Source, Step
from timeloom.pipeline.definition.paths import address_of
from timeloom.pipeline.definition.queries import may_vary
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.engine import Engine, Judged
from timeloom.pipeline.expectations import meet
from timeloom.pipeline.outputs.merging import merge_old
from timeloom.pipeline.outputs.staging import Outputs, Target
from timeloom.pipeline.subjects import Subjects
from timeloom.pipeline.tables.listing import Listing, require_same
from timeloom.pipeline.tables.samples import show_sample
from timeloom.report.pictures.measures import LocalMeasures
from timeloom.report.record import RunRecord, SinkRecord, SourceRecord, StepRecord

SAMPLE_ROWS = 400


class Watcher(Protocol):
    """Is told what goes on."""

    def begin(self, text: str) -> None:
        """Something has begun."""

    def end(self, text: str) -> None:
        """It has ended."""


class Run:
    """One run of a pipeline."""

    def __init__(
        self, pipeline: Pipeline, engine: Engine, record: RunRecord, watcher: Watcher, outputs: Outputs
    ) -> None:
        self.pipeline = pipeline
        self.engine = engine
        self.record = record
        self.watcher = watcher
        self.outputs = outputs
        self.frames: dict[str, Any] = {}
        self.periods: Periods = {}
        self.points: set[str] = set()
        self.shown: Shown = {}
        self.left_uses = uses(pipeline)
        self.listings: dict[str, tuple[str, Listing]] = {}
        self.admitted: dict[str, int] = {}
        self.subjects = Subjects()
        self.waiting: dict[str, tuple[Store, Any, int]] = {}

    def go(self, targets: dict[str, Target]) -> None:
        """Stage everything; outputs change when the caller commits them."""
        for store in self.pipeline.stores.values():
            self.engine.require(store)
        for name, source in self.pipeline.sources.items():
            self._read(name, source)
        for name in self.pipeline.sources:
            self._write_sinks_of(name, targets)
        for name in needed_steps(self.pipeline):
            self._step(name, self.pipeline.steps[name])
            self._write_sinks_of(name, targets)
        order = list(self.pipeline.all_sinks)
        self.record.sinks.sort(key=lambda sink: order.index(sink.name))
        for name, (place, listing) in self.listings.items():
            require_same(name, listing, self.engine.listing(place))

    def _read(self, name: str, source: Source) -> None:
        place = self.pipeline.place(source.path) if source.path else source.table or ""
        record = SourceRecord(name, self.pipeline.told(place) if source.path else place, source.format)
        self.record.sources.append(record)
        with self._timed(f"source {name}", record, lambda: _source_words(record)):
            listing = self.engine.listing(place) if source.path else {}
            judged = self.engine.judge(name, source, place)
            if source.path and self.engine.reads_late:
                self.listings[name] = place, listing
            elif source.path:
                require_same(name, listing, self.engine.listing(place))
            record.rows, record.reasons = judged.rows, judged.reasons
            record.admitted = judged.rows - sum(judged.reasons.values())
            self._settle_unfit(name, source, judged, record)
            fit = self._expected_source(name, source, judged.fit, record)
            if not record.balanced:
                raise StorageError(f"the rows of source {name!r} changed while they were read: {_source_words(record)}")
        self.frames[name], self.periods[name] = fit, source.period
        self.admitted[name] = record.admitted
        self.shown[name] = [source.period] if source.period else []
        self.subjects.know_source(name, source)
        if source.empty == "point":
            self.points.add(name)

    def _settle_unfit(self, name: str, source: Source, judged: Judged, record: SourceRecord) -> None:
        outcomes: dict[str, list[str]] = {"error": [], "quarantine": [], "drop": []}
        for reason in judged.reasons:
            outcomes[outcome_of(source, reason)].append(reason)
        if outcomes["error"]:
            counts = "; ".join(f"{judged.reasons[reason]} where {reason}" for reason in outcomes["error"])
            raise InvalidInputError(
                f"source {name!r} has unfit rows: {counts} (of {judged.rows}); mend them, or set on_invalid to "
                "quarantine or drop"
            )
        record.dropped = sum(judged.reasons[reason] for reason in outcomes["drop"])
        if source.on_invalid == "quarantine":
            rows = self.engine.only(judged, outcomes["quarantine"])
            record.quarantined, record.quarantine = self._quarantine(name, rows)

    def _expected_source(self, name: str, source: Source, frame: Any, record: SourceRecord) -> Any:
        """Hold a source to its expectations; rows that are set aside are accounted for."""
        if source.expect is None:
            return frame
        met = meet(name, frame, source.expect, source.period or Period(), self.engine.settle)
        record.faults, record.note = met.faults, met.note
        if met.apart is None:
            return met.frame
        apart, place = self._quarantine(f"{name}.expect", met.apart)
        record.quarantined += apart
        record.admitted -= apart
        record.quarantine = record.quarantine or place
        return met.frame

    def _expected_step(self, name: str, step: Step, frame: Any, record: StepRecord) -> Any:
        """Hold the result of a step to its expectations."""
        if step.expect is None:
            return frame
        met = meet(name, frame, step.expect, self.periods[name] or Period(), self.engine.settle)
        record.faults = met.faults
        record.note = "; ".join(part for part in (record.note, met.note) if part)
        if met.apart is not None:
            apart, _ = self._quarantine(f"{name}.expect", met.apart)
            record.quarantined += apart
            record.rows = None if record.rows is None else record.rows - apart
        return met.frame

    def _quarantine(self, name: str, rows: Any) -> tuple[int, str]:
        """Write rejected rows to the quarantine; count what is really there."""
        place = self.pipeline.quarantine
        if place is None:
            raise StorageError(f"{name!r} has rejected rows, but the pipeline has no quarantine; give its path")
        path = f"{place.path}/{name}"
        target = self.outputs.add(self.pipeline.place(path))
        sink = Sink.model_validate({"from": name, "path": path, "format": place.format})
        return self._written(rows, sink, target), self.pipeline.told(str(target.named))

    def _step(self, name: str, step: Step) -> None:
        record = StepRecord(name, step.verb or "sql", step.needs, {})
        self.record.steps.append(record)
        with self._timed(f"step {name}", record, lambda: _step_words(record)):
            options: dict[str, Any] = {}
            if step.sql is not None:
                record.call = {"sql": " ".join(step.sql.split())}
                frame = self.engine.query(step.sql, {table: self.frames[table] for table in step.needs})
            else:
                frame, options = self._call(step, record)
            if isinstance(frame, Quarantined):
                record.quarantined, _ = self._quarantine(name, frame.rejected)
                frame = frame.result
            self._know_periods(name, step, options, frame)
            if step.expect is not None:
                frame, record.rows = self.engine.settle(frame)
                frame = self._expected_step(name, step, frame, record)
            if self.engine.name == "local" or self.left_uses.get(name, 0) > 1 or self._is_read_again(name, step):
                frame, record.rows = self.engine.settle(frame)
            else:
                record.note = "computed while what follows is written"
        self.frames[name] = frame
        if self.points.intersection(step.needs):
            self.points.add(name)
        for table in step.needs:
            self._used(table)

    def _know_periods(self, name: str, step: Step, options: dict[str, Any], frame: Any) -> None:
        columns = self.engine.columns(frame)
        self.subjects.know_step(name, step, columns)
        self.shown[name] = result_periods(step, options, self.shown, columns)
        self.periods[name] = self.shown[name][0] if self.shown[name] else None

    def _is_read_again(self, name: str, step: Step) -> bool:
        """Whether a verb, which may read its tables more than once, takes a query that may answer differently then."""
        takers = [other for other in self.pipeline.steps.values() if other.verb is not None and name in other.needs]
        return bool(takers) and step.sql is not None and may_vary(step.sql)

    def _call(self, step: Step, record: StepRecord) -> tuple[Any, dict[str, Any]]:
        verb = verbs()[step.verb or ""]
        options = call_options(verb, step, self.periods, self.points)
        tables = [self._tables(step.inputs[name]) for name in verb.inputs if name in step.inputs]
        record.call = {name: _shown(value) for name, value in options.items()}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", DroppedRowsWarning)
            if verb.explains:
                record.plan = self._plan(verb.name, tables, options)
            del told[:]
            frame = verb.function(*tables, **options)
        record.note = "; ".join(str(warning.message) for warning in told)
        return frame, options

    def _plan(self, verb: str, tables: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        try:
            plan = explain(verb, *tables, **options)
        except TimeloomError:
            raise
        except Exception as error:
            return {"why": [f"no plan: {one_line(error)}"]}
        return {"engine": plan.engine, **plan.facts, "why": list(plan.why)}

    def _tables(self, named: "str | list[str]") -> Any:
        return self.frames[named] if isinstance(named, str) else [self.frames[name] for name in named]

    def _write_sinks_of(self, table: str, targets: dict[str, Target]) -> None:
        for name, sink in self.pipeline.sinks.items():
            if sink.table == table:
                self._write(name, sink, targets[name])
                self._used(table)
        for name, store in self.pipeline.stores.items():
            if store.table == table:
                self._settle(name, store)
                self._used(table)

    def _write(self, name: str, sink: Sink, target: Target) -> None:
        place = self.pipeline.told(str(target.named))
        record = SinkRecord(name, sink.table, place, sink.format, sink.mode, title=sink.title or "")
        self.record.sinks.append(record)
        frame = self.frames[sink.table]
        with self._timed(f"sink {name}", record, lambda: f"{record.rows:,} rows"):
            record.rows = self._written(frame, sink, target)
            fit = self.admitted.get(sink.table, record.rows)
            if record.rows != fit:
                raise StorageError(
                    f"source {sink.table!r} had {fit:,} fit rows when it was judged, and {record.rows:,} when sink "
                    f"{name!r} was written; nothing was changed, run it again when the source is at rest"
                )
            record.bytes = size_of(target.staging)
            self._draw(record, frame, sink, target.staging)
            merge_old(sink, target.path, target.staging)
        for step in self.record.steps:
            if step.name == sink.table and step.rows is None:
                step.rows = record.rows

    def _settle(self, name: str, store: Store) -> None:
        """Compute what goes to a store, which is written when all else is certain."""
        record = SinkRecord(name, store.table, store.place, store.format, store.mode, title=store.title or "")
        self.record.sinks.append(record)
        with self._timed(f"sink {name}", record, lambda: f"{record.rows:,} rows"):
            frame, record.rows = self.engine.settle(self.frames[store.table])
            self._draw(record, frame, None, None)
        self.waiting[name] = store, frame, record.rows
        for step in self.record.steps:
            if step.name == store.table and step.rows is None:
                step.rows = record.rows

    def deliver(self) -> None:
        """Write to all stores, one after the other; each commits by itself."""
        done: list[str] = []
        for name, (store, frame, rows) in self.waiting.items():
            self.watcher.begin(f"store {name}")
            try:
                place = self.pipeline.place(store.path) if store.path else ""
                self.engine.deliver(frame, store, place and address_of(place), rows)
            except Exception as error:
                if done:
                    error.add_note(f"changed already: {', '.join(done)}; all other outputs are as they were")
                raise
            done.append(name)
            self.watcher.end(f"store {name}: {rows:,} rows")

    def _draw(self, record: SinkRecord, frame: Any, sink: Sink | None, staging: Path | None) -> None:
        """Show a few rows, and draw all of them; what the sample has whole is not asked for again."""
        sample = self.engine.sample(frame, sink, staging, SAMPLE_ROWS)
        periods = self.shown[record.table]
        show_sample(record, sample, periods, self.subjects.keys[record.table], self.subjects.counted[record.table])
        whole = record.rows <= sample.num_rows
        measures = LocalMeasures(sample) if whole else self.engine.measures(frame, sink, staging)
        self.subjects.draw(record, sample, next(iter(periods), None), measures)

    def _written(self, frame: Any, sink: Sink, target: Target) -> int:
        """Write a frame and count what can be read back; fail the run if that is not what was meant."""
        counts = self.engine.write(frame, sink, target.staging)
        if counts.found != counts.meant:
            raise StorageError(
                f"sink {sink.path!r} was to get {counts.meant:,} rows of {sink.table!r}, but {counts.found:,} can be "
                f"read back from its {sink.format} files, so nothing was changed; csv loses rows whose only column is "
                "null and, on Spark, breaks at line ends within texts (options: {multiLine: true}): take parquet"
            )
        return counts.found

    def _used(self, table: str) -> None:
        """Let go of a table that nothing needs any more."""
        self.left_uses[table] -= 1
        if not self.left_uses[table]:
            del self.frames[table]

    @contextmanager
    def _timed(self, what: str, record: Any, words: Callable[[], str]) -> Iterator[None]:
        self.watcher.begin(what)
        begun = time.perf_counter()
        yield
        record.seconds = round(time.perf_counter() - begun, 3)
        self.watcher.end(f"{what}: {words()} ({record.seconds:.1f} s)")


def open_sinks(pipeline: Pipeline, outputs: Outputs) -> dict[str, Target]:
    """Lock and check the places of all sinks."""
    targets = {}
    for name, sink in pipeline.sinks.items():
        place = pipeline.place(sink.path)
        if sink.mode == "error" and os.path.lexists(place):
            raise StorageError(f"{place!r} exists already; remove it, or take mode: overwrite")
        targets[name] = outputs.add(place, is_file=pipeline.engine == "local" and sink.is_file)
    return targets


def outcome_of(source: Source, reason: str) -> str:
    """What becomes of a row that is unfit for this reason: error, quarantine or drop."""
    empty = source.period is not None and reason == reason_texts(source.period)[EMPTY]
    return source.empty if empty and source.empty in ("error", "drop") else source.on_invalid


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a directory."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


def _shown(value: Any) -> str:
    if isinstance(value, Period):
        ends = "" if value.closed == "left" else f" (closed: {value.closed})"
        return f"{value.start}, {value.end}{ends}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _source_words(record: SourceRecord) -> str:
    words = f"{record.rows:,} rows = {record.admitted:,} fit"
    return f"{words} + {record.quarantined:,} quarantined + {record.dropped:,} dropped{_fault_words(record)}"


def _step_words(record: StepRecord) -> str:
    return f"{record.rows:,} rows{_fault_words(record)}" if record.rows is not None else record.note


def _fault_words(record: SourceRecord | StepRecord) -> str:
    return f"; warning: {record.note}" if record.faults and record.note else ""
