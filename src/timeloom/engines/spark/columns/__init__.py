"""What SQL says of a row: its ticks, whether it is valid, its keys, and where its columns stand in a packed row."""
