"""The tasks of counting joins, and how their parts add up."""
