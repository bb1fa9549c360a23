"""``timeloom warm``: compile the kernels ahead of the first call."""

import time

import click

from timeloom.cli.screen import bar, say
from timeloom.cli.state import with_debug


@with_debug
@click.command("warm", short_help="Compile all kernels ahead, so that no first call waits")
def command() -> None:
    """Compile the kernels for this machine and keep them; what is compiled already is only loaded.

    Kernels are compiled when a verb first needs them, which takes seconds. Run this after an installation, in the
    recipe of a container image, or on the machines of a cluster; NUMBA_CACHE_DIR names a place of your own for them.
    """
    from timeloom.cli.warming import calls
    from timeloom.kernels.machine_code import cache_root

    begun = time.perf_counter()
    found = calls()
    with bar("compiling kernels", len(found)) as advance:
        for title, call in found.items():
            advance(title)
            call()
    place = cache_root()
    kept = f"kept in {str(place)!r}" if place else "kept nowhere: no directory is ours to write"
    say(f"{len(found)} kinds of calls are ready after {time.perf_counter() - begun:.1f} s; kernels are {kept}")
