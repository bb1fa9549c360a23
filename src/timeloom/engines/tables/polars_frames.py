"""Polars' frames, to Arrow and back in the types that they had."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from timeloom.engines.tables.foreign_types import with_named_zones


@dataclass(frozen=True)
class PolarsKind:
    """What a frame was: its columns of a fixed set of texts, plain dictionaries to Arrow, and whether it was lazy."""

    enums: Mapping[str, Any] = field(default_factory=dict)
    lazy: bool = False

    def __call__(self, table: pa.Table) -> Any:
        """A result as a frame."""
        import polars as pl

        frame = pl.from_arrow(with_named_zones(table))
        assert isinstance(frame, pl.DataFrame)
        texts = {name: kind for name, kind in self.enums.items() if name in frame.columns}
        dictionaries = [name for name in texts if pa.types.is_dictionary(table.schema.field(name).type)]
        frame = frame.with_columns(pl.col(name).cast(pl.String).cast(texts[name]) for name in dictionaries)
        return frame.lazy() if self.lazy else frame

    def beside(self, other: "PolarsKind", suffixes: tuple[str, str]) -> "PolarsKind":
        """The kind of a result that has columns of another frame, too."""
        enums = {f"{name}{suffix}": kind for suffix in ("", suffixes[1]) for name, kind in other.enums.items()}
        enums |= {f"{name}{suffixes[0]}": kind for name, kind in self.enums.items()}
        return replace(self, enums=enums | dict(self.enums))


def from_polars(frame: Any) -> tuple[pa.Table, PolarsKind]:
    """A frame as an Arrow table; a lazy one is collected."""
    import polars as pl

    lazy = isinstance(frame, pl.LazyFrame)
    collected = frame.collect() if lazy else frame
    enums = {name: kind for name, kind in collected.schema.items() if isinstance(kind, pl.Enum)}
    return collected.to_arrow(), PolarsKind(enums, lazy)
