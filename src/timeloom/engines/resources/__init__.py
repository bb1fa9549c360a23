"""What the machine has: threads, memory, and the limits that follow."""
