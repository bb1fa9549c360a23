"""A condition over the columns of a result, as SQL: parsed and checked before anything runs."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from timeloom.errors import UsageError, did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

UNDERSTOOD = (
    *("Column", "Identifier", "Literal", "Boolean", "Null", "Paren", "Interval", "Var", "DataType", "DataTypeParam"),
    *("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "And", "Or", "Not", "Is", "In", "Between", "Like", "ILike"),
    *("Add", "Sub", "Mul", "Div", "Neg", "Abs", "Lower", "Upper", "Length", "Coalesce", "Case", "If", "Cast", "DPipe"),
    *("NullSafeEQ", "NullSafeNEQ"),
)
"""The kinds of expressions that a condition may have, by sqlglot's names."""


@dataclass(frozen=True)
class Condition:
    """A condition as it was written."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("where= is an empty text; give a condition such as 'price < limit_right', or leave it out")
        for node in self.tree.walk():
            if type(node).__name__ not in UNDERSTOOD:
                raise UsageError(
                    f"where={shown(self.text)}: {node.sql()[:60]!r} is not understood here; a condition has columns, "
                    "literals, comparisons, AND, OR, NOT, IS, IN, BETWEEN, LIKE, arithmetic, ABS, LOWER, UPPER, "
                    "LENGTH, COALESCE, CASE, CAST and INTERVAL"
                )
            if type(node).__name__ == "Column" and len(node.parts) > 1:  # type: ignore[attr-defined]
                raise UsageError(
                    f"where={shown(self.text)}: {node.sql()!r} names a table; give the output name of the column; "
                    "a right column of a name that both tables have ends with its suffix"
                )

    @cached_property
    def tree(self) -> "exp.Expression":
        """The condition as an expression."""
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError

        try:
            # by itself a text such as "call > 1" would be taken for a command
            found: Any = sqlglot.parse_one(f"TRUE AND {self.text}", into=exp.Condition, dialect="duckdb")
        except (SqlglotError, RecursionError) as error:
            raise UsageError(
                f"where={shown(self.text)} is no condition of SQL: {_trouble(error)}; "
                "give one such as 'price < limit_right'"
            ) from error
        first = found
        while not (isinstance(first, exp.And) and isinstance(first.this, exp.Boolean)):
            first = first.this
        return first.expression.pop() if first is found else first.replace(first.expression).root()  # type: ignore[no-any-return]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that the condition reads, each once."""
        from sqlglot import exp

        return tuple(dict.fromkeys(node.name for node in self.tree.find_all(exp.Column)))

    def resolve(self, known: "Sequence[str]") -> dict[str, str]:
        """The output column that each name means: the one of that name, or the only one that differs in case only."""
        found = {}
        for name in self.names:
            alike = [other for other in known if other.lower() == name.lower()]
            if name not in known and len(alike) != 1:
                raise UsageError(f"where= reads {name!r}, which the result does not have. {did_you_mean(name, known)}")
            found[name] = name if name in known else alike[0]
        return found


def _trouble(error: Exception) -> str:
    """Where a text cannot be read further; the parser's own words are about its classes."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    places = getattr(error, "errors", None)
    if not places:
        return "a text or a comment in it does not end"
    return f"it cannot be read beyond {places[0]['highlight']!r}"
