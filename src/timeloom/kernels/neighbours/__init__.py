"""The rows of another table that are nearest in time."""
