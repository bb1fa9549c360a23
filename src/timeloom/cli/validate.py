"""``timeloom validate``: every fault of a pipeline file, without running anything."""

import click

from timeloom.cli.state import FAILED, State, with_debug


@with_debug
@click.command("validate", short_help="Check a pipeline file")
@click.argument("file")
@click.option("--engine", type=click.Choice(["spark", "local"]), help="Check for this engine, whatever the file says.")
@click.pass_obj
def command(state: State, file: str, engine: str | None) -> None:
    """Check a pipeline file whole, without running it or starting Spark.

    Each fault is printed with its line and column; the exit code is 1 if there are any.
    """
    from timeloom.pipeline.definition.faults import PipelineError
    from timeloom.pipeline.definition.secrets import Secrets
    from timeloom.pipeline.streams.check import load_file
    from timeloom.pipeline.streams.models import Stream

    secrets = Secrets()
    state.mask = secrets.mask
    try:
        found = load_file(file, secrets, engine)
    except PipelineError as error:
        for fault in error.faults:
            click.echo(fault.shown(file))
        click.echo(f"{file}: {len(error.faults)} fault{'s' if len(error.faults) > 1 else ''}", err=True)
        raise click.exceptions.Exit(FAILED) from None
    if isinstance(found, Stream):
        click.echo(f"{file}: sound; a stream into {found.sink.format}")
        return
    parts = f"{len(found.sources)} sources, {len(found.steps)} steps, {len(found.all_sinks)} sinks"
    click.echo(f"{file}: sound; {parts}, {found.engine} engine")
