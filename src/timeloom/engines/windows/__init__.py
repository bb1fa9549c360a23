"""Bitemporal histories and the windows that slide over them."""
