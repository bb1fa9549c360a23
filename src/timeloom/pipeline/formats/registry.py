"""All file formats, and which one a name stands for."""

from pathlib import Path

from timeloom.errors import UsageError, did_you_mean
from timeloom.pipeline.formats import columnar, json_text
from timeloom.pipeline.formats.compressed import gzipped
from timeloom.pipeline.formats.delimited import Delimited
from timeloom.pipeline.formats.record import Format, SparkForm

DEFAULT = "parquet"
"""What is written where nothing says otherwise."""

STANDARD = "-"
"""The name of the standard streams, which carry CSV."""

INDEX = "index"
"""What pipelines call an index in a file: it is no table, but may stand where one is read."""

INDEX_SUFFIXES = (".index", ".idx")
"""How the names of indexes end."""

_COMMA, _TAB = Delimited(","), Delimited("\t")

_CSV = Format(
    *("csv", "CSV", (".csv",), _COMMA.read, _COMMA.write, _COMMA.count, _COMMA.directory),
    texts="all",
    options=("delimiter", "nullValue"),
    spark=SparkForm("csv", {"header": "true"}, streams=True),
)
_TSV = Format(
    *("tsv", "TSV", (".tsv",), _TAB.read, _TAB.write, _TAB.count, _TAB.directory),
    texts="all",
    options=("nullValue",),
    spark=SparkForm("csv", {"header": "true", "sep": "\t"}),
)
_JSON = Format(
    *("json", "JSON", (".jsonl", ".ndjson", ".json"), json_text.read_json, json_text.JsonLines, json_text.count_lines),
    directory=lambda how: "json",
    texts="some",
    spark=SparkForm("json", streams=True),
)
_RECORDS = (
    _CSV,
    _JSON,
    Format(
        *("parquet", "Parquet", (".parquet",), columnar.read_parquet, columnar.ParquetBatches, columnar.count_parquet),
        directory=lambda how: "parquet",
        spark=SparkForm("parquet", streams=True),
    ),
    Format(
        *("orc", "ORC", (".orc",), columnar.read_orc, columnar.OrcBatches, columnar.count_orc),
        directory=lambda how: "orc",
        spark=SparkForm("orc"),
    ),
    Format(
        *("arrow", "Arrow", (".arrow", ".feather"), columnar.read_ipc, columnar.write_ipc, columnar.count_ipc),
        directory=lambda how: "arrow",
    ),
    _TSV,
    Format(
        *("json_array", "JSON array", (".json",), json_text.read_array, json_text.JsonArray, json_text.count_elements),
        texts="some",
        spark=SparkForm("json", {"multiLine": "true"}, writes=False, whole_files=True),
    ),
    gzipped(_CSV),
    gzipped(_TSV),
    gzipped(_JSON),
)

FORMATS = {record.name: record for record in _RECORDS}
"""All formats by name. Of two with one suffix, the first is meant by it."""

BY_SUFFIX = {suffix: record for record in reversed(_RECORDS) for suffix in record.suffixes}


def by_suffix(path: str) -> Format | None:
    """The format that a file's name tells: the longest suffix counts."""
    name = Path(path).name.lower()
    known = [suffix for suffix in BY_SUFFIX if name.endswith(suffix) and name != suffix]
    return BY_SUFFIX[max(known, key=len)] if known else None


def is_index_file(path: str) -> bool:
    """Tell the name of an index from that of a table."""
    return Path(path).suffix.lower() in INDEX_SUFFIXES


def format_of(path: str) -> str:
    """Tell the format of a file from its name."""
    found = _CSV if path == STANDARD else by_suffix(path)
    if found is None:
        suffix = Path(path).suffix.lower()
        raise UsageError(f"{path!r} has no suffix that tells its format. {did_you_mean(suffix, BY_SUFFIX)}")
    return found.name
