"""The report of a pipeline run: what went in, what came out, how, and how long it took."""
