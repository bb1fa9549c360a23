"""Pictures of whole results: what is drawn, measured in a few hundred numbers, however large the result is."""
