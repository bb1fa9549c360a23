"""Streams whose results are final when they leave: rows are kept until then, and the verbs of tables compute them."""
