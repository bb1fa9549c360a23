"""Verbs through an index: what a few rows have to do with many events, without reading the events."""
