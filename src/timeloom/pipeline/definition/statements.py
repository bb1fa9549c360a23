"""What ``sql:`` steps may do: ask. Commands and calls out of SQL need a key that allows them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from timeloom.errors import UsageError

KEY = "allow_sql_commands"
"""The key of a pipeline file that lifts the refusal."""

CALLS_OUT = ("reflect", "java_method", "try_reflect")
"""Functions of Spark that call any Java method."""


def refuse_commands(text: str) -> None:
    """Refuse what is no query: commands, several statements, scripts, and functions that call Java.

    >>> refuse_commands("select a, count(*) from t group by a")
    >>> refuse_commands("drop table t")
    Traceback (most recent call last):
    ...
    timeloom.errors.UsageError: DROP is no query; write a select, or set allow_sql_commands: true
    """
    import sqlglot
    from sqlglot import exp

    mend = f"or set {KEY}: true"
    statements = parse_statements(text)
    for token, following in pairwise(sqlglot.tokenize(text, read="spark")):
        if token.token_type.name == "USING" and following.token_type.name == "STRING":
            raise UsageError(f"TRANSFORM … USING {following.text!r} runs a program; take functions of SQL, {mend}")
        if token.text.lower() in CALLS_OUT and following.token_type.name == "L_PAREN":
            raise UsageError(f"{token.text} calls Java; take functions of SQL, {mend}")
    if len(statements) != 1:
        raise UsageError(f"there are {len(statements)} statements; a step has one query")
    if not isinstance(statements[0], exp.Query | exp.Values):
        kind = type(statements[0]).__name__.upper()
        raise UsageError(f"{kind} is no query; write a select, {mend}")


def parse_statements(text: str) -> list[Any]:
    """Parse the statements of a text; UsageError if it is no SQL."""
    import sqlglot

    with _quiet():
        try:
            return [parsed for parsed in sqlglot.parse(text, read="spark") if parsed is not None]
        except sqlglot.errors.SqlglotError as error:
            raise UsageError(f"no valid SQL: {' '.join(str(error).split())}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep sqlglot from writing to the screen that it knows a command by name only."""
    log = logging.getLogger("sqlglot")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
