"""Disjoint partitions with a life of their own: made once, used by several operators, kept up to date, or on disk."""
