"""The grammar of what follows FROM.

source   = table [windows] | table join
table    = name [[AS] alias] [PERIOD (start, end)]
windows  = "[" SYS slide "]" "[" APP slide "]" ["[" RATIO n ":" n "]"] [STEPS n] [MEANING name]
slide    = {"," (PERIOD (start, end) | START instant | RANGE span | SLIDE span | START SLIDE span)}
join     = [kind] JOIN table ON condition {AND condition}
         | TEMPORAL [kind] JOIN table [USING (columns) | ON column = column {AND column = column}]
condition= column = column | name.period relation name.period
relation = name {"." name} ["(" DELTA span ["," EPSILON span] ")"] {"|" name {"." name}}
kind     = INNER | LEFT [OUTER | SEMI | ANTI] | RIGHT [OUTER] | FULL [OUTER] | SEMI | ANTI
instant  = number | text | DATE text | TIMESTAMP text
span     = ["-"] (number | INTERVAL text [unit] | INTERVAL number unit)
"""

from typing import Any, NoReturn

from timeloom.errors import TimeloomError
from timeloom.model.join import How
from timeloom.model.names import relation as find_relation
from timeloom.model.relation import Relation
from timeloom.model.slide import MEANINGS, Slide
from timeloom.model.ticks import Span, parse_span
from timeloom.query.statement import JoinSource, PeriodColumns, Source, TableRef, WindowSource
from timeloom.query.text import END, Token, error_at, whole_number

NAMES = ("VAR", "IDENTIFIER")
KINDS: dict[str, How] = {
    "INNER": "inner",
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "semi",
    "ANTI": "anti",
}
CLAUSES = ("JOIN", "TEMPORAL", "PERIOD", "ON", "USING", "STEPS", "MEANING", *KINDS)


class SourceParser:
    """Reads a source from tokens."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    def source(self) -> Source:
        """Read the whole source."""
        table = self._table()
        if table.period is not None and self._next.kind in ("L_BRACKET", END):
            hint = "in each bracket, as in [SYS, PERIOD (a, b), START …]" if self._next.kind != END else "in a join"
            raise error_at(self._text, table.token.start, f"PERIOD after a table has no meaning here; give it {hint}")
        if self._next.kind == "L_BRACKET":
            result: Source = self._windows(table)
        elif self._next.kind == END:
            result = table
        else:
            result = self._join(table)
        if self._next.kind != END:
            self._fail("expected the end of the FROM clause (WHERE, GROUP BY, ORDER BY, LIMIT or nothing)")
        return result

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind != END
        return token

    def _fail(self, expected: str, token: "Token | None" = None) -> NoReturn:
        token = token or self._next
        found = "the end" if token.kind == END else repr(token.text)
        raise error_at(self._text, token.start, f"found {found}, {expected}")

    def _word(self, word: str) -> bool:
        """Take a keyword if it comes next."""
        found = self._next.word == word
        self._at += found
        return found

    def _expect(self, word: str, where: str) -> Token:
        token = self._next
        if not self._word(word):
            self._fail(f"expected {word} {where}".rstrip())
        return token

    def _name(self, what: str) -> Token:
        plain = self._next.kind != "STRING" and self._next.text.isidentifier()
        if not plain and self._next.kind != "IDENTIFIER":
            self._fail(f"expected {what}")
        return self._take()

    def _table(self) -> TableRef:
        if self._next.kind == "L_PAREN":
            self._fail("expected the name of a table: queries do not nest; run the inner one first and pass its result")
        token = self._name("the name of a table")
        alias = token.text
        if self._word("AS") or (self._next.kind in NAMES and self._next.word not in CLAUSES):
            alias = self._name("an alias").text
        period = self._period_columns() if self._word("PERIOD") else None
        return TableRef(token.text, alias, token, period)

    def _period_columns(self) -> PeriodColumns:
        self._expect("(", "and two columns")
        start = self._name("the column of starts").text
        self._expect(",", "between the two columns")
        end = self._name("the column of ends").text
        self._expect(")", "after the two columns")
        return start, end

    def _windows(self, table: TableRef) -> WindowSource:
        parts: dict[str, Any] = {"table": table}
        first = self._next
        while self._next.kind == "L_BRACKET":
            self._take()
            self._bracket(parts)
            self._expect("]", "to close the bracket")
        self._options(parts)
        for axis in ("sys", "app"):
            if axis not in parts:
                name = axis.upper()
                self._fail(f"expected a window for {name} as well, such as [{name}, START 0, RANGE 1, SLIDE 1]", first)
        return WindowSource(**parts)

    def _bracket(self, parts: dict[str, Any]) -> None:
        token = self._take()
        axis = token.word.lower()
        if axis not in ("sys", "app", "ratio"):
            self._fail("expected SYS, APP or RATIO", token)
        if axis in parts:
            self._fail(f"but {token.word} was given before; expected each bracket once", token)
        if axis == "ratio":
            system = self._count("the number of system slides")
            self._expect(":", "between the two counts")
            parts["ratio"] = (system, self._count("the number of application slides"))
            if parts["ratio"] == (0, 0):
                self._fail("but a ratio of 0:0 never slides; expected one count above 0", token)
            return
        parts[axis], period = self._slide(token)
        if period:
            parts[f"{axis}_period"] = period

    def _slide(self, axis: Token) -> tuple[Slide, "PeriodColumns | None"]:
        given: dict[str, Any] = {}
        while self._word(","):
            token = self._take()
            if token.word not in ("START", "RANGE", "SLIDE", "PERIOD"):
                self._fail("expected START, RANGE, SLIDE or PERIOD", token)
            option = token.word.lower()
            if option == "start" and self._word("SLIDE"):
                option = "start_slide"
            if option in given:
                self._fail(f"but {option.upper().replace('_', ' ')} was given before; expected it once", token)
            read = {"start": self._instant, "period": self._period_columns}.get(option, self._span)
            given[option] = read()
        for word in ("start", "range", "slide"):
            if word not in given:
                self._fail(f"expected ', {word.upper()} …' in the bracket of {axis.word}")
        period = given.pop("period", None)
        try:
            return Slide(**given), period
        except TimeloomError as error:
            raise error_at(self._text, axis.start, str(error)) from error

    def _options(self, parts: dict[str, Any]) -> None:
        while self._next.word in ("STEPS", "MEANING"):
            token = self._take()
            name = token.word.lower()
            if name in parts:
                self._fail(f"but {token.word} was given before; expected it once", token)
            if name == "steps":
                parts["steps"] = self._count("the number of slides")
                continue
            meaning = self._take()
            if meaning.text.lower() not in MEANINGS:
                self._fail(f"expected a meaning: {', '.join(MEANINGS)}", meaning)
            parts["meaning"] = meaning.text.lower()

    def _count(self, what: str) -> int:
        number = whole_number(self._next.text) if self._next.kind == "NUMBER" else None
        if number is None:
            self._fail(f"expected {what}, a whole number of at least 0")
        self._take()
        return number

    def _instant(self) -> "int | str":
        if self._next.word in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
            self._take()
            if self._next.kind != "STRING":
                self._fail("expected a text such as '2014-03-20'")
        if self._next.kind == "STRING":
            return self._take().text
        return self._number("an instant: a whole number, or a text such as '2014-03-20'")

    def _number(self, what: str) -> int:
        sign = -1 if self._word("-") else 1
        number = whole_number(self._next.text) if self._next.kind == "NUMBER" else None
        if number is None:
            self._fail(f"expected {what}")
        self._take()
        return sign * number

    def _span(self) -> Span:
        """A number of ticks, or an interval."""
        first = self._next
        negative = self._word("-")
        if not self._word("INTERVAL"):
            ticks = self._number("a span: a whole number, or an INTERVAL")
            return -ticks if negative else ticks
        amount = self._take()
        if amount.kind not in ("STRING", "NUMBER"):
            self._fail("expected an interval such as INTERVAL '60' DAY", amount)
        words = amount.text
        if amount.kind == "NUMBER" or words.strip().lstrip("+-").isdigit():
            words += " " + self._name("a unit: DAY, HOUR, MINUTE, SECOND, …").text
        try:
            span = parse_span(words.lower(), "INTERVAL")
        except TimeloomError as error:
            raise error_at(self._text, first.start, str(error)) from error
        return -span if negative else span

    def _join(self, left: TableRef) -> JoinSource:
        temporal = self._word("TEMPORAL")
        how = self._kind()
        self._expect("JOIN", "(a comma or another clause cannot stand here)")
        right = self._table()
        if left.alias.lower() == right.alias.lower():
            self._fail(f"but both tables are called {left.alias!r}; expected an alias for one of them", right.token)
        pairs: list[tuple[str, str]] = []
        relation = None
        if temporal and self._word("USING"):
            pairs = [(name, name) for name in self._columns()]
        elif self._word("ON"):
            relation = self._conditions(left, right, pairs, temporal=temporal)
        if not temporal and relation is None:
            self._fail(f"expected ON {left.alias}.period <relation> {right.alias}.period, or TEMPORAL before JOIN")
        return JoinSource(left, right, how, relation, tuple(a for a, _ in pairs), tuple(b for _, b in pairs))

    def _kind(self) -> How:
        kind: How = KINDS.get(self._next.word, "inner")
        if self._next.word in KINDS:
            self._take()
        if kind == "left" and self._next.word in ("SEMI", "ANTI"):
            kind = "semi" if self._take().word == "SEMI" else "anti"
        if kind in ("left", "right", "full"):
            self._word("OUTER")
        return kind

    def _columns(self) -> list[str]:
        self._expect("(", "and the columns")
        names = [self._name("a column").text]
        while self._word(","):
            token = self._name("a column")
            if token.text in names:
                self._fail("but this column was named before; expected each column once", token)
            names.append(token.text)
        self._expect(")", "after the columns")
        return names

    def _conditions(
        self, left: TableRef, right: TableRef, pairs: list[tuple[str, str]], *, temporal: bool
    ) -> "Relation | None":
        relation = None
        while True:
            first = self._next
            side, column = self._qualified(left, right)
            if self._word("="):
                other, other_column = self._qualified(left, right)
                if side == other:
                    self._fail("but both sides are of one table; expected columns of both", first)
                pair = (column, other_column) if side == "left" else (other_column, column)
                if any(pair[0] == left_key or pair[1] == right_key for left_key, right_key in pairs):
                    self._fail("but one of the two columns was compared before; expected each column once", first)
                pairs.append(pair)
            elif column.lower() != "period":
                self._fail("expected = and a column of the other table")
            elif temporal or relation is not None:
                self._fail("but a relation is given once, and not in a TEMPORAL join; expected =", self._next)
            else:
                relation = self._relation(side, left, right)
            if not self._word("AND"):
                return relation

    def _qualified(self, left: TableRef, right: TableRef) -> tuple[str, str]:
        token = self._name("a column with its table, such as " + left.alias + ".key")
        sides = {left.alias.lower(): "left", right.alias.lower(): "right"}
        if token.text.lower() not in sides:
            self._fail(f"expected {left.alias} or {right.alias} before a dot", token)
        self._expect(".", "and a column")
        return sides[token.text.lower()], self._name("a column").text

    def _relation(self, side: str, left: TableRef, right: TableRef) -> Relation:
        first = self._next
        text = self._relation_name()
        options: dict[str, Span] = {}
        if self._word("("):
            while True:
                option = self._take()
                if option.word not in ("DELTA", "EPSILON"):
                    self._fail("expected DELTA or EPSILON", option)
                if option.word.lower() in options:
                    self._fail(f"but {option.word} was given before; expected it once", option)
                options[option.word.lower()] = self._span()
                if not self._word(","):
                    break
            self._expect(")", "after the distances")
        while self._word("|"):
            text += " | " + self._relation_name()
        try:
            relation = find_relation(text, **options)
        except TimeloomError as error:
            raise error_at(self._text, first.start, str(error)) from error
        other, period = self._qualified(left, right)
        if other == side or period.lower() != "period":
            self._fail("expected the period of the other table", self._tokens[self._at - 1])
        return relation if side == "left" else ~relation

    def _relation_name(self) -> str:
        name = self._name("a relation, such as DURING or INTERSECTS").text
        while self._word("."):
            name += "." + self._name("a relation").text
        return name.lower()
