"""Tables that a command names: in which format they are, and how their texts are read."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from timeloom.cli.period_texts import strptime
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.model.period import Period
from timeloom.pipeline.formats.registry import FORMATS, STANDARD, by_suffix, format_of

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "table"
"""The form that is made for eyes, not for programs."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """How the tables of one command are read and written.

    Parameters
    ----------
    form
        The format of tables whose names tell none.
    delimiter
        The separator of texts that are read.
    dates
        The formats of times in texts, in the words of ``strptime``.
    types
        The types of columns that are not to be guessed.
    """

    form: str | None = None
    delimiter: str | None = None
    dates: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Reading":
        """Take the options of a command."""
        delimiter = {"\\t": "\t", "tab": "\t"}.get(given["delimiter"] or "", given["delimiter"])
        if delimiter is not None and len(delimiter) != 1:
            raise UsageError(f"--delimiter {delimiter!r} is no separator; give one character, or tab")
        return cls(given["form"], delimiter, tuple(given["date_format"]), _types(given["type"]))

    def table(self, path: str) -> "pa.Table":
        """Read a table."""
        from timeloom.pipeline.formats.record import Csv
        from timeloom.pipeline.tables.files import read_table

        form = self.input_form(path)
        if self.delimiter is not None and "delimiter" not in FORMATS[form].options:
            raise UsageError(f"--delimiter is for CSV, and {path!r} is {FORMATS[form].title}; leave it out")
        known = tuple(self.types)
        texts = known if FORMATS[form].texts == "all" else ()
        table = typed(read_table(path, form, Csv(self.delimiter, texts, known=known)), self.types, path, form)
        return parsed(table, self.dates, path) if self.dates else table

    def require_typed(self, tables: "Mapping[str, Any]") -> None:
        """Refuse types of columns that no table has."""
        columns = [name for table in tables.values() for name in getattr(table, "column_names", ())]
        for name, kind in self.types.items():
            if name not in columns:
                raise UsageError(f"--type {name}={kind}: no table has this column. {did_you_mean(name, columns)}")

    def input_form(self, path: str) -> str:
        """The format of an input: by its name, by --format, or by the files of a directory."""
        known = by_suffix(path) if path != STANDARD else None
        if known is not None:
            return known.name
        if self.form is not None and self.form != TABLE:
            return self.form
        return _form_inside(path) if os.path.isdir(path) else format_of(path)

    def output_form(self, path: str, *, terminal: bool) -> str:
        """The format of an output; on a terminal it is a table to look at."""
        known = by_suffix(path) if path != STANDARD else None
        if known is not None:
            return known.name
        if self.form is not None:
            return self.form
        return TABLE if path == STANDARD and terminal else format_of(path)


def reading_options() -> list[click.Option]:
    """The options of every command that takes tables."""
    return [
        click.Option(
            ["--format", "form"],
            type=click.Choice([*FORMATS, TABLE]),
            help="The format where no suffix tells it: of -, of names without one. [default: CSV; table on a terminal]",
        ),
        click.Option(["--delimiter"], metavar="CHARACTER", help="What separates the values of CSV that is read."),
        click.Option(
            ["--date-format"],
            multiple=True,
            metavar="FORMAT",
            help="How times are written in texts, such as %d.%m.%Y or '%m/%d/%Y %H:%M'. ISO 8601 needs none.",
        ),
        click.Option(
            ["--type"],
            multiple=True,
            metavar="NAME=TYPE",
            help="The type of a column that is not to be guessed, such as start=timestamp; a file may have no rows.",
        ),
    ]


def with_reading(command: F) -> F:
    """Give a command the options for tables; it gets them as ``form``, ``delimiter``, ``date_format``, ``type``."""
    command.params += reading_options()  # type: ignore[attr-defined]
    return command


def _types(given: "tuple[str, ...]") -> dict[str, str]:
    """The types of columns, as --type names them."""
    from timeloom.pipeline.definition.types import is_nested, parse_type

    types: dict[str, str] = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or not kind:
            raise UsageError(f"--type {text!r} names no type; give NAME=TYPE, such as start=timestamp or n=bigint")
        types[name] = parse_type(kind, name)
        if is_nested(types[name]):
            raise UsageError(f"--type {text!r} is of several parts; give a simple type, such as bigint or timestamp")
    return types


def typed(table: "pa.Table", types: Mapping[str, str], path: str, form: str) -> "pa.Table":
    """Bring columns to their types; values that are not of them are refused."""
    from timeloom.pipeline.tables.parsing import typed_column

    for at, name in enumerate(table.column_names):
        if name not in types:
            continue
        column, failed = typed_column(table[name], types[name], name, path, form)
        if failed.any():
            first = table[name][int(failed.argmax())].as_py()
            raise InvalidInputError(
                f"{failed.sum()} of {len(failed)} values in column {name!r} of {path!r} are no {types[name]}, the "
                f"first is {first!r}; mend them, or give another --type"
            )
        table = table.set_column(at, name, column)
    return table


def parsed(table: "pa.Table", formats: tuple[str, ...], path: str) -> "pa.Table":
    """Read texts as times wherever all values of a column have one of the formats.

    A column of which most have one stays text: what becomes of the others is decided where periods are read.
    """
    import pyarrow as pa

    texts = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    fitting = 0
    for name in texts:
        for found in (strptime(table[name], form) for form in formats):
            if not found.holds_for_most(table[name]):
                continue
            fitting += 1
            if not found.failed.any():
                table = table.set_column(table.column_names.index(name), name, found.times)
                break
    if texts and not fitting:
        shown = "; ".join(f"{name} has {_example(table[name])!r}" for name in texts)
        raise UsageError(f"--date-format {' or '.join(map(repr, formats))} fits no text column of {path!r}: {shown}")
    return table


def _example(column: "pa.ChunkedArray") -> Any:
    return next((value for value in column.to_pylist() if value is not None), None)


def refuse_texts(tables: Mapping[str, Any], periods: "list[Period]") -> None:
    """Refuse columns of times that are text or of no type, with what to add to the command."""
    import pyarrow as pa

    for path, table in tables.items():
        if not isinstance(table, pa.Table):
            continue
        for name in dict.fromkeys(period.start for period in periods):
            if name in table.column_names and pa.types.is_null(table[name].type):
                lacking = "values" if table.num_rows else "rows"
                raise InvalidInputError(
                    f"{path!r} has no {lacking} that tell the type of its column {name!r}; "
                    f"say it with --type {name}=bigint, or =date, =timestamp, =timestamp_ntz"
                )
        for name in dict.fromkeys(name for period in periods for name in (period.start, period.end)):
            if name in table.column_names and pa.types.is_string(table[name].type):
                raise InvalidInputError(
                    f"column {name!r} of {path!r} is text, such as {_example(table[name])!r}; expected integers, dates "
                    "or timestamps: add --date-format with the way they are written, such as --date-format '%d.%m.%Y' "
                    "or --date-format '%m/%d/%Y %H:%M'"
                )


def _form_inside(path: str) -> str:
    """The one format of a directory's files."""
    names = sorted(file.name for file in Path(path).rglob("*") if file.is_file() and file.name[0] not in "._")
    found = sorted({known.name for name in names if (known := by_suffix(name)) is not None})
    if len(found) == 1:
        return found[0]
    what = f"files of several formats ({', '.join(found)})" if found else "no file whose suffix tells a format"
    raise UsageError(f"{path!r} is a directory with {what}; say which with --format. {did_you_mean('', FORMATS)}")
