"""The long campaign: ``python -m fuzz --minutes 10 --seed 1``; the suite runs a short form."""

import argparse
import importlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

CAMPAIGNS = ("local_calls", "laws", "documents")
"""Modules beside this one with ``run(seed, seconds)``, which tells how much it tried and raises on what is wrong."""

ROUND = 20.0
"""Seconds that a campaign gets before the next one has its turn."""


def campaign(name: str) -> Callable[[int, float], Counter[str]]:
    """How to run one campaign."""
    run: Callable[[int, float], Counter[str]] = importlib.import_module(f"fuzz.{name}").run
    return run


def main() -> int:
    """Run the campaigns in turns, and say what failed, with the seed that makes it fail again."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; by default anywhere")
    parser.add_argument("--only", nargs="*", choices=CAMPAIGNS, default=CAMPAIGNS)
    asked = parser.parse_args()
    seed = random.randrange(10**9) if asked.seed is None else asked.seed
    stop, told, failed = time.monotonic() + 60 * asked.minutes, {name: Counter[str]() for name in asked.only}, 0
    while time.monotonic() < stop:
        for name in asked.only:
            left = stop - time.monotonic()
            if left <= 0:
                break
            try:
                told[name] += campaign(name)(seed, min(ROUND, left))
            except AssertionError as error:
                failed += 1
                print(f"{name} failed with seed {seed}:\n{error}\n", flush=True)
            seed += 1
    for name, counts in told.items():
        print(f"{name}: {sum(counts.values())} tried; " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    print(f"{failed} failed; the next seed is {seed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
