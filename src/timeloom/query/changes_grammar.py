"""The grammar of changes.

update  = UPDATE table [portion] [[AS] alias] SET column = value {"," column = value} [WHERE condition] [at]
delete  = DELETE FROM table [portion] [[AS] alias] [WHERE condition] [at]
portion = FOR PORTION OF (APPLICATION_TIME | VALID_TIME) FROM instant TO instant
at      = AT SYSTEM_TIME instant
"""

from timeloom.query.from_grammar import read_value
from timeloom.query.grammar import Grammar
from timeloom.query.structure import Change, Range


def read_change(at: Grammar) -> Change:
    """Read an UPDATE or DELETE."""
    kind = at.take().word.lower()
    if kind == "delete":
        at.expect("FROM", "after DELETE")
    table = at.at
    alias = at.name("the name of a table").text
    portion = _read_portion(at)
    if at.word("AS") or (at.next.kind in ("VAR", "IDENTIFIER") and at.next.word not in ("SET", "AT")):
        alias = at.name("an alias").text
        portion = portion or _read_portion(at)
    values: list[tuple[int, Range]] = []
    if kind == "update":
        at.expect("SET", "and new values")
        values.append(_read_value(at, values))
        while at.word(","):
            values.append(_read_value(at, values))
    where: Range | None = None
    if at.word("WHERE"):
        begin = at.at
        at.expression(lambda: at.sees("AT", "SYSTEM_TIME") or at.next.kind == "SEMICOLON")
        if at.at == begin:
            at.fail("expected a condition after WHERE")
        where = (begin, at.at)
    moment = read_value(at) if at.word("AT", "SYSTEM_TIME") else None
    return Change("update" if kind == "update" else "delete", table, alias, portion, moment, tuple(values), where)


def _read_portion(at: Grammar) -> tuple[Range, Range] | None:
    if not at.word("FOR"):
        return None
    at.expect("PORTION", "OF APPLICATION_TIME")
    at.expect("OF", "and APPLICATION_TIME")
    axis = at.take()
    if axis.word not in ("APPLICATION_TIME", "VALID_TIME"):
        at.fail("expected APPLICATION_TIME or VALID_TIME; system time cannot be changed", axis)
    at.expect("FROM", "and an instant")
    first = read_value(at)
    at.expect("TO", "and a second instant")
    return first, read_value(at)


def _read_value(at: Grammar, before: list[tuple[int, Range]]) -> tuple[int, Range]:
    column = at.at
    name = at.name("a column").text
    if any(at.tokens[known].text.lower() == name.lower() for known, _ in before):
        at.fail("but this column was given before; expected each column once", at.tokens[column])
    at.expect("=", "and a value")
    begin = at.at
    at.expression(
        lambda: at.next.kind in ("COMMA", "SEMICOLON") or at.next.word == "WHERE" or at.sees("AT", "SYSTEM_TIME")
    )
    if at.at == begin:
        at.fail("expected a value")
    return column, (begin, at.at)
