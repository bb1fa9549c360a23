"""The task that computes the measures of a temporal aggregation."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from timeloom.engines.spark.sequenced.rows import Delivery, Writer
from timeloom.engines.timelines.aggregation import measured, sweep
from timeloom.engines.timelines.grouped import Grouped
from timeloom.model.sequenced import AggregateRequest


@dataclass(frozen=True)
class AggregateTask:
    """Aggregates the rows of one partition, on one thread."""

    delivery: Delivery
    request: AggregateRequest
    writer: Writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Aggregate one partition."""
        rows = self.delivery.read(batches)
        if rows is None:
            return
        users = {alias: name for name, alias in self.writer.names.items()}
        table = rows.table.rename_columns([users[alias] for alias in rows.table.column_names])
        by = list(self.request.by)
        grouped = Grouped.of(table, rows.starts, rows.ends, by)
        swept = sweep(grouped, self.request, 1)
        columns = grouped.columns(table, by, self.writer.periods, swept.line.starts, swept.line.ends)
        columns |= measured(swept, self.request.measures, table, grouped.rows, columns)
        yield from self.writer.batches(columns)
