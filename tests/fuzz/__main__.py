"""The long campaign: ``python -m fuzz --minutes 10 --seed 1``; the suite runs a short form."""

import argparse
import importlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable

ROUND = 20.0
"""Seconds that a campaign gets before the next one has its turn."""

Campaign = Callable[[int, float], Counter[str]]
"""Tries things from a seed on for some seconds, tells how many of which kind, and raises on what is wrong."""


def damaged_files(seed: int, seconds: float) -> Counter[str]:
    """Files of indexes with mutations, in rounds of fifty."""
    from fuzz.index_files import mutate

    stop, told = time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < stop:
        told += Counter(mutate(seed + told.total(), 50))
    return told


def on_spark(seed: int, seconds: float) -> Counter[str]:
    """Calls on Spark, under random settings, against the local engine."""
    from pyspark.sql import SparkSession

    from fuzz.spark_calls import run

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    return Counter({"compared": run(seed, seconds, spark)})


def module(name: str) -> Campaign:
    """The campaign of a module beside this one."""

    def run(seed: int, seconds: float) -> Counter[str]:
        found = importlib.import_module(f"fuzz.{name}").run(seed, seconds)
        return found if isinstance(found, Counter) else Counter({"tried": found})

    return run


CAMPAIGNS: dict[str, Campaign] = {
    **{name: module(name) for name in ("local_calls", "laws", "documents", "sql_texts")},
    "damaged_files": damaged_files,
    "on_spark": on_spark,
}


def main() -> int:
    """Run the campaigns in turns, and say what failed, with the seed that makes it fail again."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; by default anywhere")
    parser.add_argument("--only", nargs="*", choices=CAMPAIGNS, default=list(CAMPAIGNS))
    asked = parser.parse_args()
    seed = random.randrange(10**9) if asked.seed is None else asked.seed
    stop, told, failed = time.monotonic() + 60 * asked.minutes, {name: Counter[str]() for name in asked.only}, 0
    while time.monotonic() < stop:
        for name in asked.only:
            left = stop - time.monotonic()
            if left <= 0:
                break
            try:
                told[name] += CAMPAIGNS[name](seed, min(ROUND, left))
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
