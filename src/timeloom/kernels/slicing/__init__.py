"""Tick ranges of rows that are sent to other tasks, their copies for each slice, and runs cut at windows."""
