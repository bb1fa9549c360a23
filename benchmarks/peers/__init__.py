"""Algorithms that the papers compare with, compiled as ours are; each is tested against the reference."""
