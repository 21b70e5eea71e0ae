"""A run learns of another run, or leaves something to it."""
