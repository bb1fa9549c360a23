"""Windows that slide over two axes of time, by tasks."""
