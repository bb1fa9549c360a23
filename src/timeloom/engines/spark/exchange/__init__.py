"""What travels between tasks: rows packed in blocks, routed to slices or broadcast, and read again."""
