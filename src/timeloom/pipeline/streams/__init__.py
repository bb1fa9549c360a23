"""Streams in files: their definition, run, progress and signals."""
