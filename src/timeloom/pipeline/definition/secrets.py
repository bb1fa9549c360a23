"""Environment variables in pipeline files: ``${NAME}``. Their values never appear in what Timeloom prints or writes."""

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

_REFERENCE = re.compile(r"\$(\$)?\{(?:([^{}$]*)\})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SENSITIVE = re.compile(r"secret|passw|token|credential|(?:access|private|account|api)[._-]?key", re.I)
"""Names of settings whose values are never shown."""

_PARAMETER = re.compile(r"[;?&/]\s*([\w.-]+)=([^;&]+)")
_LOGIN = re.compile(r"//[^/:@\s]*:([^/@\s]+)@")
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

    def hide(self, name: str, value: object) -> None:
        """Mask a value, too, that is no variable of the file; it shows as ``${name}``."""
        self.used.setdefault(name, str(value))

    def hide_settings(self, settings: Mapping[str, object]) -> None:
        """Mask the values of settings whose names say that they are secret."""
        for name, value in settings.items():
            if SENSITIVE.search(name) and str(value) not in self.used.values():
                self.hide(name, value)

    def hide_address(self, address: str | None) -> None:
        """Mask the secrets within an address, such as ``sc://host/;token=…`` or ``jdbc:…?password=…``."""
        for name, value in _PARAMETER.findall(address or ""):
            self.hide_settings({name: value})
            self.hide_settings({f"{name} ": unquote(value)})
        for value in _LOGIN.findall(address or ""):
            self.hide_settings({"password": value})

    def mask(self, text: str) -> str:
        """Replace the values of variables by their names, also where they are quoted, escaped, or with other blanks."""
        for name, value in sorted(self.used.items(), key=lambda item: -len(item[1])):
            if len(value.strip()) >= SHORTEST:
                shown = f"${{{name.strip()}}}".replace("\\", r"\\")
                text = _pattern(value).sub(shown, text)
        return text

    def mask_error(self, error: BaseException) -> None:
        """Mask the texts of an error, and of the errors that led to it; what keeps its text elsewhere is replaced."""
        seen: set[int] = set()
        left: list[BaseException] = [error]
        while left:
            at = left.pop()
            if id(at) in seen:
                continue
            seen.add(id(at))
            self._mask_texts(at)
            for link in ("__cause__", "__context__"):
                inner = getattr(at, link)
                if inner is not None and self._mask_texts(inner):
                    left.append(inner)
                elif inner is not None:
                    hidden = at.__suppress_context__
                    setattr(at, link, RuntimeError(self.mask(f"{type(inner).__name__}: {inner}")))
                    at.__suppress_context__ = hidden

    def _mask_texts(self, error: BaseException) -> bool:
        """Mask what an error says, and tell whether nothing is left to mask."""
        error.args = tuple(self.mask_all(arg) for arg in error.args)
        for name in ("filename", "filename2", "strerror"):
            told = getattr(error, name, None)
            if isinstance(told, str) and self.mask(told) != told:
                setattr(error, name, self.mask(told))
        if hasattr(error, "__notes__"):
            error.__notes__ = [self.mask(note) for note in error.__notes__]
        return self.mask(str(error)) == str(error)

    def mask_all(self, value: Any) -> Any:
        """Mask every text inside lists and mappings."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {self.mask_all(key): self.mask_all(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask_all(part) for part in value]
        return value


@lru_cache(maxsize=256)
def _pattern(value: str) -> re.Pattern[str]:
    """All forms of a value in a text: quoted, escaped, and with any blanks where it has blanks."""
    plain = {value, value.strip(), " ".join(value.split())}
    forms = plain | {form for part in plain for form in (quote(part), quote(part, ""), quote_plus(part))}
    forms |= {form for part in plain for form in (json.dumps(part)[1:-1], repr(part)[1:-1], repr(repr(part))[2:-2])}
    shapes = (r"\s+".join(map(re.escape, form.split())) for form in sorted(forms, key=len, reverse=True))
    return re.compile("|".join(dict.fromkeys(shapes)))
