"""The public verbs, one a file: signature, checks, documentation, logical plan."""
