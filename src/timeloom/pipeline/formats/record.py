"""What is known of a file format: its suffixes, how files are read, written and counted, and what Spark makes of it.

Nothing here loads Arrow: pipeline files are checked by these records before anything runs.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import dataset

Texts = Literal["none", "some", "all"]
"""Which values are written as text, so that each may or may not fit its declared type."""


@dataclass(frozen=True)
class Csv:
    """How to read texts.

    Parameters
    ----------
    delimiter
        The separator; None for the format's own.
    texts
        Columns that stay text.
    nulls
        The texts that mean null; None for the usual ones.
    known
        Columns that are known to be there, for files whose rows tell none because there are none.
    """

    delimiter: str | None = None
    texts: tuple[str, ...] = ()
    nulls: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()


class Batches(Protocol):
    """Takes record batches."""

    def write(self, batch: "pa.RecordBatch", /) -> object:
        """Write one."""


@dataclass(frozen=True)
class SparkForm:
    """A format in Spark's words.

    Parameters
    ----------
    name
        Spark's own name of it.
    layout
        Options that say how files look, for reading as for writing.
    writing
        Options for writing only.
    writes
        Whether Spark writes it.
    whole_files
        Whether a file is one value, which must then be an array: anything else would be read in part.
    streams
        Whether it may come and go as a stream.
    """

    name: str
    layout: Mapping[str, str] = field(default_factory=dict)
    writing: Mapping[str, str] = field(default_factory=dict)
    writes: bool = True
    whole_files: bool = False
    streams: bool = False


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name
        What pipelines call it.
    title
        What messages call it.
    suffixes
        The suffixes that stand for it; the first is the one that files of a directory get.
    read
        Reads an open file as a table.
    write
        Opens a writer of batches on an open file.
    count
        Counts the rows of a file, given what opens it; without reading values, where that is possible.
    directory
        Arrow's form of it for directories of files; None if it is for single files only.
    texts
        Which of its values are texts.
    options
        The options of a source that the local engine understands.
    spark
        What Spark makes of it; None if Spark has nothing of the kind.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: "Callable[[pa.NativeFile, Csv], pa.Table]"
    write: "Callable[[IO[bytes] | pa.NativeFile, pa.Schema], AbstractContextManager[Batches]]"
    count: "Callable[[Callable[[], pa.NativeFile]], int]"
    directory: "Callable[[Csv], str | dataset.FileFormat] | None" = None
    texts: Texts = "none"
    options: tuple[str, ...] = ()
    spark: SparkForm | None = None
