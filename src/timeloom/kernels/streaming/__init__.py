"""The sweep over endpoint events as they arrive, and when a pair is certain."""
