"""Threads against every public class for minutes: ``python -m threads --minutes 5``; the suite does it for seconds."""

import argparse
import importlib
import sys
import time

STRESSES = (
    ("threads.stab_forest", "stress"),
    ("threads.bitemporal", "stress_index"),
    ("threads.bitemporal", "stress_table"),
    ("streaming.test_tables_threads", "stress"),
    ("streaming.test_operator_threads", "stress"),
    ("streaming.test_operator_threads", "stress_keys"),
    ("streaming.test_counting_threads", "stress"),
    ("streaming.test_live_threads", "stress"),
)
"""Modules, and functions in them that take seconds and tell how many answers they checked."""


def main() -> int:
    """Stress each class for its share of the time; what is wrong raises."""
    parser = argparse.ArgumentParser(prog="python -m threads", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    seconds = 60 * parser.parse_args().minutes / len(STRESSES)
    for module, name in STRESSES:
        began = time.monotonic()
        checked = getattr(importlib.import_module(module), name)(seconds)
        print(f"{module}.{name}: {checked} answers in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
