"""``timeloom validate``: every fault of a pipeline file, without running anything."""

import click

from timeloom.cli.state import State, with_debug


@with_debug
@click.command("validate", short_help="Check a pipeline file")
@click.argument("file")
@click.option("--engine", type=click.Choice(["spark", "local"]), help="Check for this engine, whatever the file says.")
@click.pass_obj
def command(state: State, file: str, engine: str | None) -> None:
    """Check a pipeline file whole, without running it or starting Spark.

    Each fault is printed with its line and column; the exit code is 1 if there are any.
    """
    from timeloom.pipeline.check import load
    from timeloom.pipeline.faults import PipelineError
    from timeloom.pipeline.secrets import Secrets

    secrets = Secrets()
    state.mask = secrets.mask
    try:
        pipeline = load(file, secrets, engine)
    except PipelineError as error:
        for fault in error.faults:
            click.echo(fault.shown(file))
        click.echo(f"{file}: {len(error.faults)} fault{'s' if len(error.faults) > 1 else ''}", err=True)
        raise click.exceptions.Exit(1) from None
    parts = f"{len(pipeline.sources)} sources, {len(pipeline.steps)} steps, {len(pipeline.sinks)} sinks"
    click.echo(f"{file}: sound; {parts}, {pipeline.engine} engine")
