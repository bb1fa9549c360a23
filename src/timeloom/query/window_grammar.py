"""The grammar of windows, instants and spans.

windows  = "[" SYS slide "]" "[" APP slide "]" ["[" RATIO n ":" n "]"] {STEPS n | MEANING meaning}
meaning  = name | "(" name "," name ")"
slide    = {"," (PERIOD (start, end) | START instant | RANGE span | SLIDE span | START SLIDE span)}
instant  = ["-"] number | text | (DATE | TIMESTAMP | TIMESTAMPTZ) text | NOW
span     = ["-"] (number | INTERVAL text [unit] | INTERVAL number unit)
"""

from typing import Any

from timeloom.errors import TimeloomError
from timeloom.model.slide import MEANINGS, Slide
from timeloom.model.ticks import Span, parse_span
from timeloom.query.cursor import Cursor
from timeloom.query.structure import Columns, Windows
from timeloom.query.text import Token, error_at, whole_number

NOW = "NOW"
"""Stands for the instant at which a query runs."""


def read_windows(cursor: Cursor) -> Windows:
    """Read brackets and what follows them."""
    parts: dict[str, Any] = {}
    first = cursor.next
    while cursor.next.kind == "L_BRACKET":
        cursor.take()
        _read_bracket(cursor, parts)
        cursor.expect("]", "to close the bracket")
    _read_options(cursor, parts)
    for axis in ("sys", "app"):
        if axis not in parts:
            name = axis.upper()
            cursor.fail(f"expected a window for {name} as well, such as [{name}, START 0, RANGE 1, SLIDE 1]", first)
    return Windows(**parts)


def _read_bracket(cursor: Cursor, parts: dict[str, Any]) -> None:
    token = cursor.take()
    axis = token.word.lower()
    if axis not in ("sys", "app", "ratio"):
        cursor.fail("expected SYS, APP or RATIO", token)
    if axis in parts:
        cursor.fail(f"but {token.word} was given before; expected each bracket once", token)
    if axis == "ratio":
        system = cursor.count("the number of system slides")
        cursor.expect(":", "between the two counts")
        parts["ratio"] = (system, cursor.count("the number of application slides"))
        if parts["ratio"] == (0, 0):
            cursor.fail("but a ratio of 0:0 never slides; expected one count above 0", token)
        return
    parts[axis], period = _read_slide(cursor, token)
    if period:
        parts[f"{axis}_period"] = period


def _read_slide(cursor: Cursor, axis: Token) -> tuple[Slide, Columns | None]:
    given: dict[str, Any] = {}
    while cursor.word(","):
        token = cursor.take()
        if token.word not in ("START", "RANGE", "SLIDE", "PERIOD"):
            cursor.fail("expected START, RANGE, SLIDE or PERIOD", token)
        option = token.word.lower()
        if option == "start" and cursor.word("SLIDE"):
            option = "start_slide"
        if option in given:
            cursor.fail(f"but {option.upper().replace('_', ' ')} was given before; expected it once", token)
        read = {"start": read_instant, "period": Cursor.columns}.get(option, read_span)
        given[option] = read(cursor)
    for word in ("start", "range", "slide"):
        if word not in given:
            cursor.fail(f"expected ', {word.upper()} …' in the bracket of {axis.word}")
    period = given.pop("period", None)
    try:
        return Slide(**given), period
    except TimeloomError as error:
        raise error_at(cursor.text, axis.start, str(error)) from error


def _read_options(cursor: Cursor, parts: dict[str, Any]) -> None:
    while cursor.next.word in ("STEPS", "MEANING"):
        token = cursor.take()
        name = token.word.lower()
        if name in parts:
            cursor.fail(f"but {token.word} was given before; expected it once", token)
        if name == "steps":
            parts["steps"] = cursor.count("the number of slides")
            continue
        parts["meaning"] = _read_meaning(cursor)


def _read_meaning(cursor: Cursor) -> Any:
    """One meaning for both axes, or in parentheses that of system time and that of application time."""
    if not cursor.word("("):
        return _one_meaning(cursor)
    sys = _one_meaning(cursor)
    cursor.expect(",", "between the meaning of system time and that of application time")
    app = _one_meaning(cursor)
    cursor.expect(")", "after both meanings")
    return sys, app


def _one_meaning(cursor: Cursor) -> str:
    meaning = cursor.take()
    if meaning.text.lower() not in MEANINGS:
        cursor.fail(f"expected a meaning: {', '.join(MEANINGS)}", meaning)
    return meaning.text.lower()


def read_instant(cursor: Cursor) -> "int | str":
    """Read an instant."""
    if cursor.word(NOW):
        return NOW
    if cursor.next.word in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
        cursor.take()
        if cursor.next.kind != "STRING":
            cursor.fail("expected a text such as '2014-03-20'")
    if cursor.next.kind == "STRING":
        return cursor.take().text
    return _read_number(cursor, "an instant: a whole number, or a text such as '2014-03-20'")


def _read_number(cursor: Cursor, what: str) -> int:
    sign = -1 if cursor.word("-") else 1
    number = whole_number(cursor.next.text) if cursor.next.kind == "NUMBER" else None
    if number is None:
        cursor.fail(f"expected {what}")
    cursor.take()
    return sign * number


def read_span(cursor: Cursor) -> Span:
    """Read a number of ticks, or an interval."""
    first = cursor.next
    negative = cursor.word("-")
    if not cursor.word("INTERVAL"):
        ticks = _read_number(cursor, "a span: a whole number, or an INTERVAL")
        return -ticks if negative else ticks
    amount = cursor.take()
    if amount.kind not in ("STRING", "NUMBER"):
        cursor.fail("expected an interval such as INTERVAL '60' DAY", amount)
    words = amount.text
    if amount.kind == "NUMBER" or words.strip().lstrip("+-").isdigit():
        words += " " + cursor.name("a unit: DAY, HOUR, MINUTE, SECOND, …").text
    try:
        span = parse_span(words.lower(), "INTERVAL")
    except TimeloomError as error:
        raise error_at(cursor.text, first.start, str(error)) from error
    return -span if negative else span
