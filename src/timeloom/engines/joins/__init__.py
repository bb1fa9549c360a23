"""The relation join on arrays: a problem of numbers, its algorithms, and the pairs that they find."""
