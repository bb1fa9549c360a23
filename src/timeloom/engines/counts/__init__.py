"""Counts and aggregates of the right rows of each left row, without listing pairs."""
