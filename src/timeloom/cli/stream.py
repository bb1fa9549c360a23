"""``timeloom stream``: a streaming join, with progress and a report."""

import click

from timeloom.cli.run import cluster_of, run_options
from timeloom.cli.screen import progress, say
from timeloom.cli.state import State, with_debug
from timeloom.errors import UsageError


@with_debug
@click.command("stream", short_help="Run a streaming join from its file")
@click.argument("file")
@click.option("--once", is_flag=True, help="Take what is there now and stop, whatever the file says.")
@run_options
@click.pass_obj
def command(
    state: State,
    file: str,
    once: bool,
    master: str | None,
    remote: str | None,
    conf: tuple[str, ...],
    report: str | None,
) -> None:
    """Run a streaming join: check its file, follow its sources, write each result once it is certain.

    An interrupt (or SIGTERM) stops the stream after the running micro-batch; started again, it goes on from its
    checkpoint. A second interrupt stops it at once, and nothing is lost by that either.
    """
    from timeloom.pipeline.definition.secrets import Secrets
    from timeloom.pipeline.execution import hide_settings
    from timeloom.pipeline.streams.check import load_file
    from timeloom.pipeline.streams.execution import run_stream
    from timeloom.pipeline.streams.models import Stream

    cluster = cluster_of(master, remote, conf)
    secrets = Secrets()
    state.mask = secrets.mask
    found = load_file(file, secrets)
    hide_settings(found, cluster, secrets)
    if not isinstance(found, Stream):
        raise UsageError(f"{file!r} is a pipeline and no stream; start it with timeloom run")
    stream = found.model_copy(update={"trigger": None}) if once else found
    with progress(secrets.mask) as watcher:
        done = run_stream(stream, file, cluster=cluster, report=report, secrets=secrets, watcher=watcher)
    say(f"done in {done.record['seconds']:.1f} s; report: {secrets.mask(str(done.page))}")
