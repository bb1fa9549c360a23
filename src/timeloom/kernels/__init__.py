"""Compiled algorithms on NumPy arrays: ticks and positions in, positions and arrays out."""

from timeloom.kernels import notice

NOTICE = notice.NOTICE
"""Listens as soon as there are kernels that may be compiled."""
