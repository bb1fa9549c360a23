"""``timeloom explain VERB …``: what a call would do, and why."""

import json
from typing import Any

import click

from timeloom.cli.screen import working
from timeloom.cli.state import ALONE, show_help
from timeloom.cli.texts import dashed
from timeloom.cli.verbs import call_values, make_command, read_inputs
from timeloom.operators.registry import Verb, verbs


class Explained(click.Group):
    """One command for each verb that has a plan to explain."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Name the verbs that have a plan."""
        return [dashed(name) for name, verb in verbs().items() if verb.explains]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Make the command that explains a verb."""
        found = verbs().get(name.replace("-", "_"))
        if found is None or not found.explains:
            return None

        def run(**given: Any) -> None:
            explain_verb(found, given)

        return make_command(found, run, [click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")])


def explain_verb(verb: Verb, given: dict[str, Any]) -> None:
    """Read the tables and print the plan of the call."""
    from timeloom.operators.explain import explain
    from timeloom.pipeline.formats.json_text import plain

    values = call_values(verb, given)
    tables = read_inputs(verb, given, values).tables
    with working(f"explaining {dashed(verb.name)}"):
        plan = explain(verb.name, *tables, **values)
    if given["as_json"]:
        facts = {"verb": plan.verb, "engine": plan.engine, **plan.facts, "why": plan.why}
        click.echo(json.dumps(facts, default=plain, indent=2))
    else:
        click.echo(str(plan))


command = Explained(
    "explain",
    help="Say what a call of a verb would do, and why, without making its result.",
    short_help="Say what a call would do, and why",
    callback=show_help,
    **ALONE,
)
