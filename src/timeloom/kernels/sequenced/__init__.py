"""Sequenced difference, coalescing and disjoint interval partitioning."""
