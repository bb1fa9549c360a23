"""Join algorithms: runs of a sorted column, endpoint lookup, sweeps, range tree, skip-join."""
