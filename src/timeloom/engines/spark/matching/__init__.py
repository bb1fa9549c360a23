"""The tasks of the relation join, and what becomes of their pairs, runs and rows without a partner."""
