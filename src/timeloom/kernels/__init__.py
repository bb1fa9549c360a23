"""Compiled algorithms on NumPy arrays: ticks and positions in, positions and arrays out."""
