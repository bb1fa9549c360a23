"""Tables as the engines see them: frames, ticks, validity, keys, and result columns."""
