"""Engines: where the kernels meet tables."""
