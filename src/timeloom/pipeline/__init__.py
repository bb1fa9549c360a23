"""Pipelines: a file names sources, steps and sinks; it is checked whole, run, and leaves a report."""
