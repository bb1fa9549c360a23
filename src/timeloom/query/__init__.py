"""Queries in SQL: windows that slide over two times, and temporal joins."""
