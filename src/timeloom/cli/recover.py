"""``timeloom recover``: put right what runs that died have left."""

import click

from timeloom.cli.screen import say
from timeloom.cli.state import State, with_debug


@with_debug
@click.command("recover", short_help="Complete or clean up what a killed run has left")
@click.argument("place", default=".", metavar="[FILE|DIRECTORY]")
@click.pass_obj
def command(state: State, place: str) -> None:
    """Put right what runs that died have left: of a pipeline's outputs, or of all in a directory and below.

    A run that was killed while its outputs changed is completed; what was only staged is removed. The next run over the
    same outputs does the same by itself.
    """
    from timeloom.pipeline.definition.secrets import Secrets
    from timeloom.pipeline.outputs.recovery import recover

    secrets = Secrets()
    state.mask = secrets.mask
    told = recover(place, secrets)
    for line in told:
        say(secrets.mask(line))
    say("nothing was left to do" if not told else f"{len(told)} put right")
