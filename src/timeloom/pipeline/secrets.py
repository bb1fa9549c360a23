"""Environment variables in pipeline files: ``${NAME}``. Their values never appear in what Timeloom prints or writes."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

_REFERENCE = re.compile(r"\$(\$)?\{(?:([^{}$]*)\})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHORTEST = 4
"""Shorter values are no secrets; to mask a value such as ``1`` would make every text unreadable."""


class Secrets:
    """The variables that a file mentions, and the means to hide their values.

    >>> secrets = Secrets({"PASSWORD": "open sesame"})
    >>> secrets.fill("user:${PASSWORD}")
    'user:open sesame'
    >>> secrets.mask("cannot log in with 'open sesame'")
    "cannot log in with '${PASSWORD}'"
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ if environment is None else environment
        self.used: dict[str, str] = {}

    def fill(self, text: str) -> str:
        """Replace ``${NAME}`` by the variable's value and ``$${`` by ``${``; LookupError names what is missing."""

        def value(found: re.Match[str]) -> str:
            escaped, name = found.groups()
            if escaped:
                return found.group()[1:]
            if name is None:
                raise LookupError("${ has no } that ends its name; write $${ for a plain ${")
            if not _NAME.fullmatch(name):
                raise LookupError(f"${{{name}}} is no variable name; write $${{ for a plain ${{")
            if name not in self.environment:
                raise LookupError(f"the environment variable {name} is not set")
            self.used[name] = self.environment[name]
            return self.environment[name]

        return _REFERENCE.sub(value, text)

    def mask(self, text: str) -> str:
        """Replace the values of variables by their names, also where they are quoted or escaped."""
        for name, value in sorted(self.used.items(), key=lambda item: -len(item[1])):
            if len(value) < SHORTEST:
                continue
            forms = {
                value,
                json.dumps(value)[1:-1],
                repr(value)[1:-1],
                quote(value),
                quote(value, ""),
                quote_plus(value),
            }
            for form in sorted(forms, key=len, reverse=True):
                text = text.replace(form, f"${{{name}}}")
        return text

    def mask_all(self, value: Any) -> Any:
        """Mask every text inside lists and mappings."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {self.mask_all(key): self.mask_all(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_all(part) for part in value]
        return value
