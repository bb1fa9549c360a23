"""Tables in files: formats, types, partitions, samples, and how many rows there are."""
