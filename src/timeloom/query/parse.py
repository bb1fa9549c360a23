"""From text to statement."""

from typing import Any

from timeloom.query.changes_grammar import read_change
from timeloom.query.grammar import Grammar
from timeloom.query.structure import Chain, Query, Select, Statement
from timeloom.query.text import END, Token, tokenize


def parse(text: str) -> tuple[list[Token], Statement]:
    """Read a query or a change."""
    tokens = tokenize(text)
    grammar = Grammar(text, tokens)
    first = grammar.next.word
    body: Any
    if first in ("UPDATE", "DELETE"):
        body = read_change(grammar)
    elif first in ("SELECT", "WITH", "VALUES", "("):
        body = grammar.query(as_table=True)
    else:
        grammar.fail("expected SELECT, WITH, UPDATE or DELETE")
    grammar.word(";")
    if grammar.next.kind != END:
        grammar.fail("expected the end of the query")
    return tokens, Statement(body, grammar.queries, grammar.predicates)


def table_names(tokens: list[Token], statement: Statement) -> list[str]:
    """The tables that a statement reads and does not define itself, in the order of the text."""
    names: dict[int, str] = {}
    if not isinstance(statement.body, Query):
        names[statement.body.table] = tokens[statement.body.table].text
    for query in statement.queries.values():
        for select in query.parts:
            for chain in select.chains if isinstance(select, Select) else ():
                _factors(tokens, chain, names)
    found = (names[at] for at in sorted(names) if not _defined(names[at], at, statement))
    return list(dict.fromkeys(found))


def _factors(tokens: list[Token], chain: Chain, names: dict[int, str]) -> None:
    for factor in (chain.first, *(join.right for join in chain.joins)):
        if factor.kind == "table":
            names[factor.tokens[0]] = tokens[factor.tokens[0]].text
        if factor.chain is not None:
            _factors(tokens, factor.chain, names)


def _defined(name: str, at: int, statement: Statement) -> bool:
    """Tell whether a query around a position defines a name before it, or, if recursive, where it stands."""
    for query in statement.queries.values():
        if not query.tokens[0] <= at < query.tokens[1]:
            continue
        for definition in query.definitions:
            within = definition.tokens[0] <= at < definition.tokens[1]
            before = definition.tokens[1] <= at or (within and query.recursive)
            if before and definition.name.lower() == name.lower():
                return True
    return False
