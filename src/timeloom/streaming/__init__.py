"""Joins of endpoint streams: each pair leaves at the first instant at which it is certain."""
