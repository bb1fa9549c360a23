"""Grouped and sequenced verbs: rows by group and slice, chains of tables, measures, slice edges."""
