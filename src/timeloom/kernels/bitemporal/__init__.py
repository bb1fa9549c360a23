"""Windows over two time axes, and buckets of application time."""
