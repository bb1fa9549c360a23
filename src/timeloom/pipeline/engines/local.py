"""Pipelines on local Arrow tables, without a JVM."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import timeloom
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.ticks import read_period
from timeloom.engines.tables.verdicts import judge, reason_texts
from timeloom.errors import InvalidInputError, StorageError, UsageError
from timeloom.model.policy import Policy
from timeloom.pipeline.definition.models import Sink, Source
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.engines.engine import Counts, Judged
from timeloom.pipeline.formats.record import Csv
from timeloom.pipeline.formats.registry import FORMATS, INDEX
from timeloom.pipeline.tables.counting import count_rows
from timeloom.pipeline.tables.files import read_table, write_table
from timeloom.pipeline.tables.indexes import load_index
from timeloom.pipeline.tables.listing import Listing, list_files
from timeloom.pipeline.tables.parsing import csv_texts, holds_texts, typed_column
from timeloom.pipeline.tables.partitions import check_columns, partitions
from timeloom.report.pictures.measures import LocalMeasures


class LocalEngine:
    """Frames are Arrow tables; a source may be an index, which verbs and queries take as it is."""

    name = "local"
    reads_late = False

    def __init__(self) -> None:
        self.about = {"timeloom": timeloom.__version__, "pyarrow": pa.__version__}

    def listing(self, place: str) -> Listing:
        """List the files of a source."""
        return list_files(place)

    def judge(self, name: str, source: Source, place: str) -> Judged:
        """Read a source and tell its rows apart; those of an index were when it was built."""
        if source.format == INDEX:
            index = load_index(place)
            rows = _rows(index)
            return replace(_Verdict(rows.num_rows).split(rows, rows), fit=index)
        nulls = (str(source.options.get("nullValue", "")),)
        delimiter = source.options.get("delimiter")
        how = Csv(None if delimiter is None else str(delimiter), csv_texts(source), nulls, tuple(source.columns or ()))
        raw = read_table(place, source.format, how)
        require_columns(raw.column_names, [*(source.columns or ()), *source.period_columns, *source.never_null], name)
        verdict = _Verdict(raw.num_rows)
        table = raw
        if source.columns is not None:
            table = _typed(name, source, raw, verdict)
        if source.period is not None:
            _judge_periods(name, source, table, verdict)
        for column in source.never_null:
            verdict.refuse(_mask(table[column].is_null()), f"{column} is null")
        return verdict.split(table, raw)

    def only(self, judged: Judged, reasons: list[str]) -> pa.Table:
        """The unfit rows with one of these reasons."""
        return judged.unfit.filter(pc.is_in(judged.unfit[judged.reason], pa.array(reasons, pa.string())))

    def query(self, text: str, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Run a query, temporal or not."""
        result, _ = to_arrow(timeloom.sql(text, **tables), "result")
        return result

    def settle(self, frame: pa.Table) -> tuple[pa.Table, int]:
        """Count the rows; the table is there already."""
        return frame, frame.num_rows

    def columns(self, frame: pa.Table) -> list[str]:
        """The names of a table's columns."""
        return list(frame.column_names)

    def write(self, frame: pa.Table, sink: Sink, staging: Path) -> Counts:
        """Write one file, or a directory if rows are partitioned or come in batches."""
        frame = _rows(frame)
        if sink.is_file:
            write_table(str(staging), frame.to_batches(), frame.schema, sink.format, staged=True)
            return Counts(frame.num_rows, count_rows(staging, sink.format))
        require_columns(frame.column_names, sink.partition_by, sink.table)
        check_columns(frame.column_names, sink.partition_by, sink.table)
        staging.mkdir()
        name = f"part-0{FORMATS[sink.format].suffixes[0]}"
        for folder, rows in partitions(frame, sink.partition_by):
            place = staging / folder
            _make_folder(place, staging)
            write_table(str(place / name), rows.to_batches(), rows.schema, sink.format, staged=True)
        return Counts(frame.num_rows, count_rows(staging, sink.format))

    def sample(self, frame: pa.Table, sink: Sink | None, staging: Path | None, rows: int) -> pa.Table:
        """The first rows."""
        return _rows(frame).slice(0, rows)

    def measures(self, frame: pa.Table, sink: Sink | None, staging: Path | None) -> LocalMeasures:
        """The table itself."""
        return LocalMeasures(_rows(frame))

    def require(self, store: Store) -> None:
        """Stores are refused when the pipeline is read."""

    def deliver(self, frame: pa.Table, store: Store, place: str, rows: int) -> None:
        """Stores are refused when the pipeline is read."""
        raise UsageError("tables, databases and stores are written by Spark; take engine: spark")

    def close(self) -> None:
        """Nothing is held."""


def _rows(frame: Any) -> pa.Table:
    """All rows of a table or of an index."""
    return frame if isinstance(frame, pa.Table) else to_arrow(frame, "source")[0]


def _make_folder(place: Path, staging: Path) -> None:
    """Make the folder of a partition, which must be a new one: some file systems see no difference of case."""
    try:
        if place != staging:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir()
    except FileExistsError as error:
        raise StorageError(
            f"two partitions have the same folder {str(place.relative_to(staging))!r}: this file system cannot tell "
            "names apart that differ in case or form; change the values in a step"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"the folder {str(place.relative_to(staging))!r} cannot be made: {reason}") from error


class _Verdict:
    """The first reason that speaks against each row, if any."""

    def __init__(self, rows: int) -> None:
        self.codes = np.zeros(rows, np.int32)
        self.texts: list[str] = []

    def refuse(self, rows: NDArray[np.bool_], text: str) -> None:
        self.texts.append(text)
        self.codes[rows & (self.codes == 0)] = len(self.texts)

    def split(self, table: pa.Table, raw: pa.Table) -> Judged:
        unfit = np.flatnonzero(self.codes)
        reason = "reason"
        while reason in raw.column_names:
            reason += "_"
        codes = self.codes[unfit]
        texts = pa.array([self.texts[code - 1] for code in codes.tolist()], pa.string())
        counts = {text: int((codes == code).sum()) for code, text in enumerate(self.texts, 1) if (codes == code).any()}
        fit = table if not unfit.size else table.filter(pa.array(self.codes == 0))
        return Judged(fit, raw.take(pa.array(unfit)).append_column(reason, texts), reason, raw.num_rows, counts)


def _typed(name: str, source: Source, raw: pa.Table, verdict: _Verdict) -> pa.Table:
    columns = {}
    for column, kind in (source.columns or {}).items():
        columns[column], failed = typed_column(raw[column], kind, column, name, source.format)
        if failed.any():
            verdict.refuse(failed, f"{column} is no {kind}")
    return pa.table(columns)


def _judge_periods(name: str, source: Source, table: pa.Table, verdict: _Verdict) -> None:
    assert source.period is not None
    try:
        _, found = judge(read_period(table, source.period, name), Policy(empty=source.empty))
    except InvalidInputError as error:
        hint = "; declare its type under schema" if source.columns is None and holds_texts(source.format) else ""
        raise InvalidInputError(f"source {name!r}: {error}{hint}") from error
    for code, text in reason_texts(source.period).items():
        verdict.refuse(found == code, text)


def _mask(values: pa.ChunkedArray) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = values.to_numpy()
    return mask.astype(np.bool_)
