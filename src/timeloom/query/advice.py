"""What to write instead of a clause that one of the engines of SQL does not have."""

from timeloom.query.text import Token

_ANY = "any one word"
_FIRST = "number the rows in a subquery with row_number() over (partition by … order by …), and keep those with 1"
_SHARE = "keep the rows of a subquery whose percent_rank() over (order by …) is below a share, such as 0.5"
_SUBTOTALS = "write GROUP BY ROLLUP (…) or GROUP BY CUBE (…)"

_INSTEAD: dict[str, dict[tuple[str, ...], str]] = {
    "spark": {
        ("DISTINCT", "ON"): f"Spark has no DISTINCT ON; {_FIRST}",
        ("LIMIT", _ANY, "PERCENT"): f"Spark limits by numbers of rows only; {_SHARE}",
        ("LIMIT", _ANY, "%"): f"Spark limits by numbers of rows only; {_SHARE}",
        ("FETCH", "FIRST"): "Spark has no FETCH; write LIMIT and a number of rows",
        ("FETCH", "NEXT"): "Spark has no FETCH; write LIMIT and a number of rows",
    },
    "duckdb": {
        ("WITH", "ROLLUP"): f"DuckDB has no WITH ROLLUP; {_SUBTOTALS}",
        ("WITH", "CUBE"): f"DuckDB has no WITH CUBE; {_SUBTOTALS}",
    },
}
"""By engine and by the words of a clause."""


def advice(engine: str, tokens: list[Token], offset: int) -> str | None:
    """What to write instead of the clause at an offset of the query, if it is one that the engine does not have."""
    for clause, words in _INSTEAD[engine].items():
        for first in range(len(tokens) - len(clause)):
            here = tokens[first : first + len(clause)]
            same = all(word in (_ANY, token.word) for word, token in zip(clause, here, strict=True))
            if same and here[0].start <= offset <= here[-1].end:
                return words
    return None
