"""Time cut into slices: samples, boundaries, and from which tick to which a row must be present."""
