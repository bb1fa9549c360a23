"""What runs a pipeline: local Arrow tables or Spark."""
