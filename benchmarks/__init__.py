"""Benchmarks: Timeloom and its peers side by side, answers checked first, ratios printed."""
