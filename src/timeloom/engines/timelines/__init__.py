"""Timelines of one table or two: groups, measures of active rows, sequenced joins and differences."""
