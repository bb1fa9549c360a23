"""Bitemporal tables and the index for sliding windows over them."""
