"""Tick ranges and cells of rows that are sent to other tasks, and runs cut at windows."""
