"""Outputs that change together: staging, journal, locks, recovery."""
