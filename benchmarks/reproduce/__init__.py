"""The experiments of the five papers, run again: `python -m benchmarks.reproduce`."""
