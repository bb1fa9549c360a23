"""A pipeline file as checked data: its document, parts, steps and values."""
