"""Texts with separators, read and written by Arrow."""

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from timeloom.pipeline.formats.record import Csv

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import csv, dataset


class Delimited:
    """Texts with one separator; a source may name another."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def read(self, file: "pa.NativeFile", how: Csv) -> "pa.Table":
        """Read a file; types are guessed, except of columns that are to stay text."""
        from pyarrow import csv

        parsing, conversion = self._options(how)
        return csv.read_csv(file, parse_options=parsing, convert_options=conversion)

    def write(self, file: "IO[bytes] | pa.NativeFile", schema: "pa.Schema") -> "csv.CSVWriter":
        """Write a header and rows."""
        from pyarrow import csv

        return csv.CSVWriter(file, schema, write_options=csv.WriteOptions(delimiter=self.delimiter))

    def count(self, opened: "Callable[[], pa.NativeFile]") -> int:
        """Count as a reader does, with columns as text: types guessed from the first block may not hold later.

        The file that tells the names stays open until all is counted: its reader reads ahead in a thread, and would
        read on in the second file if that had got the number of a file that was closed.
        """
        import pyarrow as pa
        from pyarrow import csv

        parsing, _ = self._options(Csv())
        with opened() as start, csv.open_csv(start, parse_options=parsing) as first, opened() as file:
            conversion = csv.ConvertOptions(column_types={name: pa.string() for name in first.schema.names})
            with csv.open_csv(file, parse_options=parsing, convert_options=conversion) as batches:
                return sum(batch.num_rows for batch in batches)

    def directory(self, how: Csv) -> "dataset.FileFormat":
        """How files of a directory are read."""
        from pyarrow import dataset

        parsing, conversion = self._options(how)
        return dataset.CsvFileFormat(parse_options=parsing, convert_options=conversion)

    def _options(self, how: Csv) -> tuple[Any, Any]:
        """Arrow's options for parsing, and for converting texts."""
        import pyarrow as pa
        from pyarrow import csv

        conversion = csv.ConvertOptions(
            column_types={name: pa.string() for name in how.texts},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        if how.nulls is not None:
            conversion.null_values = list(how.nulls)
        return csv.ParseOptions(delimiter=how.delimiter or self.delimiter, newlines_in_values=True), conversion
