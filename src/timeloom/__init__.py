"""Temporal relational algebra for Spark and Arrow tables."""
