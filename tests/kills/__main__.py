"""Kill a running stream at random instants: ``python -m kills --times 20 --seed 1``; the suite kills one once."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from kills.campaign import campaign


def main() -> int:
    """Run the campaign in a directory of its own; what is wrong raises."""
    parser = argparse.ArgumentParser(prog="python -m kills", description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        pairs = campaign(Path(folder), given.times, given.seed)
    print(f"{given.times} kills: {pairs} pairs, each once, at its instant; no event was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
