"""The stab-forest as arrays: layout, building, finishing, stabs."""
