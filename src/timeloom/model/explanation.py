"""What a call would do, and why."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.markup import fact_table


@dataclass(frozen=True)
class Explanation:
    """The plan of a call: facts by name (``plan["algorithm"]``) and the reasons for the choices made."""

    verb: str
    engine: str
    facts: dict[str, Any]
    why: tuple[str, ...] = field(default=())
    forecast: Callable[[], dict[str, Any]] | None = field(default=None, compare=False, repr=False)
    """Looks at a sample of the input, on request only: what the plan would cost."""

    def sampled(self) -> "Explanation":
        """The same with what a sample of the input tells. Runs a job if the input is on Spark."""
        if self.forecast is None:
            raise UsageError(
                f"sample=True is for calls on Spark that send rows to tasks; {self.verb} on the {self.engine} engine "
                "has no sample to look at; leave it out"
            )
        return replace(self, facts=self.facts | self.forecast(), forecast=None)

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def __str__(self) -> str:
        width = max([len("engine"), *(len(name) for name in self.facts)])
        lines = [f"{self.verb}", f"  {'engine':<{width}}  {self.engine}"]
        lines += [f"  {name:<{width}}  {_shown(value)}" for name, value in self.facts.items()]
        lines += [f"  because {reason}" for reason in self.why]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        reasons = "".join(f"<li>{escape(reason)}</li>" for reason in self.why)
        below = f"<details open><summary>because</summary><ul>{reasons}</ul></details>" if reasons else ""
        facts = {name: _shown(value) for name, value in self.facts.items()}
        return fact_table(self.verb, {"engine": self.engine, **facts}, below)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return "; ".join(_shown(part) for part in value) or "none"
    return str(value)
