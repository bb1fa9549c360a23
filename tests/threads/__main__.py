"""Threads against every public class for minutes: ``python -m threads --minutes 5``; the suite does it for seconds."""

import argparse
import importlib
import sys
import time

STRESSES = (
    ("stab_forest", "stress"),
    ("bitemporal", "stress_index"),
    ("bitemporal", "stress_table"),
    ("test_stream_join", "stress"),
    ("test_endpoint_join", "stress"),
    ("test_endpoint_join", "stress_keys"),
    ("test_endpoint_count", "stress"),
    ("test_live_forest", "stress"),
)
"""Modules beside this one, and functions in them that take seconds and tell how many answers they checked."""


def main() -> int:
    """Stress each class for its share of the time; what is wrong raises."""
    parser = argparse.ArgumentParser(prog="python -m threads", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    seconds = 60 * parser.parse_args().minutes / len(STRESSES)
    for module, name in STRESSES:
        began = time.monotonic()
        checked = getattr(importlib.import_module(f"threads.{module}"), name)(seconds)
        print(f"{module}.{name}: {checked} answers in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
