"""Counts by ranks, by sweeps and by dominance; the k highest."""
