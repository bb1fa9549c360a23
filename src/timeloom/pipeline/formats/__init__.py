"""File formats: one record each, and how Arrow reads, writes and counts them."""
