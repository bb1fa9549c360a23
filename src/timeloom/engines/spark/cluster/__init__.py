"""The session and its workers: sizes, strategies, settings that are only read, tasks that start at once."""
