"""Data of the shapes that the papers state, drawn with seeds."""
