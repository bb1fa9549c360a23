"""Sinks that are no files beside the pipeline: tables of a catalog or a database, other formats, object stores."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from timeloom.pipeline.definition.models import LABEL, Part, as_label, as_list, is_label
from timeloom.pipeline.formats.registry import FORMATS, by_suffix

NO_RENAMES = ("s3", "s3a", "s3n", "gs", "oss", "cosn", "wasb", "wasbs", "swift")
"""What addresses begin with whose stores have no directories to rename."""

RENAMES = ("file", "hdfs", "viewfs")
"""What addresses begin with whose stores rename a directory in one step, which Arrow can ask them to."""

_OWN_PATH = (
    "mode: error with a path of its own for each run (a variable such as ${DAY} in it), or a format that commits, such "
    "as delta or iceberg"
)


class Store(Part):
    """A table goes here when all else is certain, by the store's own commit. ``into`` is ``table`` in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False, arbitrary_types_allowed=True)

    table: str = Field(validation_alias="from")
    into: str | None = Field(default=None, validation_alias="table")
    url: str | None = None
    path: str | None = None
    format: str
    mode: Literal["overwrite", "append", "error"] = "error"
    partition_by: list[str] = Field(default_factory=list)
    batch: str | None = None
    title: str | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    _partition = field_validator("partition_by", mode="before")(as_list)
    _batch = field_validator("batch", mode="before")(as_label)

    @model_validator(mode="after")
    def _whole(self) -> "Store":
        if (self.url is None) != (self.format != "jdbc"):
            raise ValueError("a url is for format jdbc, and jdbc needs one")
        if self.format == "jdbc" and self.partition_by:
            raise ValueError("a table of a database has no partition_by")
        if self.format == "jdbc" and self.into is None:
            raise ValueError("a database needs table")
        if (self.into is None) == (self.path is None):
            raise ValueError("give either table or path")
        if self.holds_files:
            self._require_whole_files()
        elif self.batch is not None:
            raise ValueError(
                "batch is for mode append of plain files; here rows are appended by the store's own commit"
            )
        return self

    def _require_whole_files(self) -> None:
        """Files at an address change at once where one directory is renamed, so each batch has one."""
        scheme = (self.path or "").partition("://")[0]
        if self.mode == "overwrite" and scheme not in RENAMES:
            raise ValueError(
                f"{self.format} files at an address of {scheme} cannot be replaced at once; take one of "
                f"{', '.join(RENAMES)}, mode: append with a batch, which a rerun replaces, or {_OWN_PATH}"
            )
        if self.mode == "append" and scheme in NO_RENAMES:
            raise ValueError(
                f"files are appended by renaming a directory, which {scheme} does file by file; take {_OWN_PATH}"
            )
        if (self.mode == "append") != (self.batch is not None) or not is_label(self.batch or "x"):
            raise ValueError(f"mode append of files needs batch, and no other mode takes one: {LABEL}")
        if self.batch is not None and self.partition_by:
            raise ValueError("a batch of files is one directory, which takes its place at once: give no partition_by")

    @property
    def holds_files(self) -> bool:
        """Whether this is a place for plain files, which have no commit of their own."""
        return self.format in FORMATS and self.into is None

    @property
    def place(self) -> str:
        """What a report calls it; an address may hold a password and is left out."""
        return self.into or self.path or ""


def is_store(data: dict[str, Any]) -> bool:
    """Tell what is written under ``sinks`` apart: files that are renamed into place, and stores."""
    path, form = data.get("path"), data.get("format")
    return (
        "url" in data or "table" in data or "://" in str(path or "") or (isinstance(form, str) and form not in FORMATS)
    )


def store_format(data: dict[str, Any]) -> dict[str, Any]:
    """Say the format where it is plain: that of the suffix, jdbc with a url, the catalog's own for a table."""
    if "format" in data:
        return data
    if "url" in data:
        return data | {"format": "jdbc"}
    if "table" in data:
        return data | {"format": "table"}
    found = by_suffix(str(data.get("path")))
    return data | {"format": found.name} if found else data
