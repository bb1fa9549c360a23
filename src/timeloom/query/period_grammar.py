"""The grammar of periods and the relations between them.

predicate = period relation period | period CONTAINS instant
period    = name.period | PERIOD (start, end)
relation  = name {"." name} ["(" DELTA span ["," EPSILON span] ")"] {"|" name {"." name}}
          | OVERLAPS | CONTAINS | EQUALS | [IMMEDIATELY] (PRECEDES | SUCCEEDS)

Names are Allen's and ISEQL's. Between two values PERIOD (…) the names that SQL:2011 has, too, mean what SQL:2011 says:
OVERLAPS any time in common, CONTAINS equal ends as well.
"""

from timeloom.errors import TimeloomError, UsageError, did_you_mean
from timeloom.model import allen
from timeloom.model.names import ALL_NAMES
from timeloom.model.names import relation as find_relation
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span
from timeloom.query.cursor import Cursor
from timeloom.query.structure import Instant, PeriodOf, PeriodValue, Predicate, Range
from timeloom.query.text import error_at
from timeloom.query.window_grammar import read_span

SQL_NAMES = {
    "OVERLAPS": allen.intersects,
    "CONTAINS": Relation.of(Relation(start_start=(0, None), end_end=(None, 0)).terms, "CONTAINS of SQL:2011"),
    "EQUALS": allen.equals,
    "PRECEDES": Relation.of(Relation(start_end=(0, None)).terms, "PRECEDES of SQL:2011"),
    "SUCCEEDS": Relation.of(Relation(end_start=(None, 0)).terms, "SUCCEEDS of SQL:2011"),
    "IMMEDIATELY PRECEDES": allen.meets,
    "IMMEDIATELY SUCCEEDS": allen.met_by,
}
"""The predicates of SQL:2011."""

_ONLY_SQL = ("PRECEDES", "SUCCEEDS", "IMMEDIATELY PRECEDES", "IMMEDIATELY SUCCEEDS")
_FIRST_WORDS = {*(name.partition(".")[0].upper() for name in ALL_NAMES), *(name.split()[0] for name in SQL_NAMES)}


def predicate_at(cursor: Cursor) -> Predicate | None:
    """Read a predicate if one begins here; a column named period, or a function, is none."""
    begin = cursor.at
    left = _operand_at(cursor)
    if left is None or not _relation_follows(cursor, left):
        cursor.at = begin
        return None
    first = cursor.next
    text, options = _read_relation(cursor)
    if text == "CONTAINS" and _operand_at(cursor, peek=True) is None:
        instant = Instant(_read_point(cursor))
        return Predicate((begin, cursor.at), left, SQL_NAMES["CONTAINS"], instant)
    right = _operand_at(cursor)
    if right is None:
        cursor.fail("expected the period of the other table, such as b.period or PERIOD (b.start, b.end)")
    try:
        relation = _meaning(text, options, isinstance(left, PeriodValue), isinstance(right, PeriodValue))
    except TimeloomError as error:
        raise error_at(cursor.text, first.start, str(error)) from error
    return Predicate((begin, cursor.at), left, relation, right)


def _operand_at(cursor: Cursor, *, peek: bool = False) -> PeriodOf | PeriodValue | None:
    begin = cursor.at
    found: PeriodOf | PeriodValue | None = None
    if cursor.next.is_name and cursor.ahead(1).kind == "DOT" and cursor.ahead(2).word == "PERIOD":
        found = PeriodOf(begin)
        cursor.at += 3
    elif cursor.next.word == "PERIOD" and cursor.ahead(1).kind == "L_PAREN":
        found = _read_value(cursor)
    if peek:
        cursor.at = begin
    return found


def _read_value(cursor: Cursor) -> PeriodValue | None:
    """``PERIOD (start, end)``; another number of arguments makes it a function of the engine."""
    opening = cursor.at + 1
    closing = cursor.closing(opening)
    commas, depth = [], 0
    for at in range(opening + 1, closing):
        kind = cursor.tokens[at].kind
        depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if kind == "COMMA" and depth == 0:
            commas.append(at)
    if len(commas) != 1 or commas[0] == opening + 1 or commas[0] + 1 == closing:
        return None
    cursor.at = closing + 1
    return PeriodValue((opening + 1, commas[0]), (commas[0] + 1, closing))


def _relation_follows(cursor: Cursor, left: PeriodOf | PeriodValue) -> bool:
    """Tell a relation; an unknown word before another period is refused by whoever reads it."""
    if cursor.next.word in _FIRST_WORDS or (cursor.next.kind == "TILDE" and cursor.ahead(1).word in _FIRST_WORDS):
        return True
    unknown = cursor.next.kind == "VAR" and (
        (cursor.ahead(2).kind == "DOT" and cursor.ahead(3).word == "PERIOD")
        or (cursor.ahead(1).word == "PERIOD" and cursor.ahead(2).kind == "L_PAREN")
    )
    if unknown:
        known = [*ALL_NAMES, *(name.lower() for name in _ONLY_SQL)]
        cursor.fail(f"which is no relation. {did_you_mean(cursor.next.text.lower(), known)}")
    if isinstance(left, PeriodValue) and cursor.next.is_name and cursor.ahead(1).word == "PERIOD":
        cursor.fail("expected a relation between two periods, such as OVERLAPS")
    return False


def _read_relation(cursor: Cursor) -> tuple[str, dict[str, Span]]:
    """The name in lower case, or one that only SQL:2011 has in capitals; and the limits."""
    if cursor.word("IMMEDIATELY"):
        if cursor.next.word not in ("PRECEDES", "SUCCEEDS"):
            cursor.fail("expected PRECEDES or SUCCEEDS after IMMEDIATELY")
        return f"IMMEDIATELY {cursor.take().word}", {}
    if cursor.next.word in ("PRECEDES", "SUCCEEDS"):
        return cursor.take().word, {}
    point = cursor.next.word == "CONTAINS" and cursor.ahead(1).word != "|"
    text = _read_name(cursor)
    if point and _operand_at(cursor, peek=True) is None:
        return "CONTAINS", {}
    options = _read_limits(cursor) if cursor.next.kind == "L_PAREN" else {}
    while cursor.word("|"):
        text += " | " + _read_name(cursor)
    return text, options


def _read_limits(cursor: Cursor) -> dict[str, Span]:
    options: dict[str, Span] = {}
    cursor.expect("(", "")
    while True:
        option = cursor.take()
        if option.word not in ("DELTA", "EPSILON"):
            cursor.fail("expected DELTA or EPSILON", option)
        if option.word.lower() in options:
            cursor.fail(f"but {option.word} was given before; expected it once", option)
        options[option.word.lower()] = read_span(cursor)
        if not cursor.word(","):
            break
    cursor.expect(")", "after the distances")
    return options


def _read_name(cursor: Cursor) -> str:
    inverse = "~" if cursor.word("~") else ""
    name = cursor.name("a relation, such as DURING or INTERSECTS").text
    while cursor.word("."):
        name += "." + cursor.name("a relation").text
    return inverse + name.lower()


def _meaning(text: str, options: dict[str, Span], left_value: bool, right_value: bool) -> Relation:
    if text in _ONLY_SQL:
        return SQL_NAMES[text]
    if text.upper() in SQL_NAMES and text != "equals" and (left_value or right_value):
        if not (left_value and right_value):
            raise UsageError(
                f"{text.upper()} means one thing between a.period and b.period (Allen's relation), another between two "
                "PERIOD (…) values (SQL:2011's); write both periods in the same way"
            )
        if options:
            raise UsageError(f"{text.upper()} of SQL:2011 takes no limits; leave them out")
        return SQL_NAMES[text.upper()]
    return find_relation(text, **options)


def _read_point(cursor: Cursor) -> Range:
    """An instant: a literal, a column, a call, or anything in parentheses."""
    begin = cursor.at
    cursor.word("-")
    if cursor.next.word in ("DATE", "TIMESTAMP", "TIMESTAMPTZ") and cursor.ahead(1).kind == "STRING":
        cursor.at += 2
    elif cursor.next.kind in ("NUMBER", "STRING"):
        cursor.take()
    elif cursor.next.kind == "L_PAREN":
        cursor.at = cursor.closing(cursor.at) + 1
    else:
        cursor.name("a period or an instant")
        while cursor.word("."):
            cursor.name("a column")
        if cursor.next.kind == "L_PAREN":
            cursor.at = cursor.closing(cursor.at) + 1
    return begin, cursor.at
