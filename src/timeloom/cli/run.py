"""``timeloom run``: a pipeline, with progress and a report."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from timeloom.cli.screen import progress, say
from timeloom.cli.state import State, with_debug
from timeloom.errors import UsageError

if TYPE_CHECKING:
    from timeloom.pipeline.definition.models import Cluster

F = TypeVar("F", bound=Callable[..., Any])


def run_options(command: F) -> F:
    """Add the options of every command that runs a file."""
    for option in (
        click.option("--report", metavar="DIRECTORY", help="Where to write report.json and report.html."),
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting; may be repeated."),
        click.option("--remote", help="A Spark Connect address, such as sc://host:15002."),
        click.option("--master", help="The Spark master, such as local[4] or spark://host:7077. [default: local[*]]"),
    ):
        command = option(command)
    return command


@with_debug
@click.command("run", short_help="Run a pipeline file")
@click.argument("file")
@click.option("--engine", type=click.Choice(["spark", "local"]), help="Run on this engine, whatever the file says.")
@run_options
@click.pass_obj
def command(
    state: State,
    file: str,
    engine: str | None,
    master: str | None,
    remote: str | None,
    conf: tuple[str, ...],
    report: str | None,
) -> None:
    """Run a pipeline file: check it, read its sources, do its steps, write its sinks and a report.

    The file of a stream starts the stream, as timeloom stream does.
    Outputs change all at once at the end: a run that fails or is interrupted leaves the old ones.
    """
    from timeloom.pipeline.definition.secrets import Secrets
    from timeloom.pipeline.execution import run_file

    cluster = cluster_of(master, remote, conf)
    secrets = Secrets()
    state.mask = secrets.mask
    with progress(secrets.mask) as watcher:
        done = run_file(file, engine=engine, cluster=cluster, report=report, secrets=secrets, watcher=watcher)
    say(f"done in {done.record['seconds']:.1f} s; report: {secrets.mask(str(done.page))}")


def cluster_of(master: str | None, remote: str | None, conf: tuple[str, ...]) -> "Cluster":
    """Where Spark runs, from the options of a command."""
    from timeloom.pipeline.definition.models import Cluster

    if master and remote:
        raise UsageError("--master and --remote exclude each other; give one")
    return Cluster(master=master, remote=remote, conf=dict(_setting(text) for text in conf))


def _setting(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(f"--conf {text!r} is no setting; give key=value")
    return name, value
