"""Aggregates over timelines: exact sums, averages that are rounded once, extremes, variances."""
