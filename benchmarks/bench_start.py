"""How long a new process takes: to import, to show the command line's help, to make its first join."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

FIRST_JOIN = """
import time, pyarrow as pa
import timeloom as tl
table = pa.table({"id": range(1000), "start": range(1000), "end": range(5, 1005)})
took = []
for _ in range(4):
    began = time.perf_counter()
    tl.join(table, table, "overlaps", columns=["id", "id_right"])
    took.append(time.perf_counter() - began)
print(took[0] - min(took))
"""
IMPORT = "import time; began = time.perf_counter(); import timeloom; print(time.perf_counter() - began)"


def printed(code: str) -> float:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def shown_help() -> float:
    """Seconds until the help is on the screen."""
    began = time.perf_counter()
    subprocess.run([Path(sys.executable).with_name("timeloom"), "--help"], capture_output=True, check=True)
    return time.perf_counter() - began


def main() -> None:
    printed(FIRST_JOIN)
    cases = {
        "import timeloom": (lambda: printed(IMPORT), 0.4),
        "timeloom --help": (shown_help, 0.5),
        "first join, over the following ones": (lambda: printed(FIRST_JOIN), 1.5),
    }
    output = Table(title="A new process")
    for name in ("case", "median (s)", "at most (s)"):
        output.add_column(name)
    for case, (measure, limit) in cases.items():
        output.add_row(case, f"{statistics.median(measure() for _ in range(5)):.2f}", f"{limit}")
    Console(width=100).print(output)


if __name__ == "__main__":
    main()
