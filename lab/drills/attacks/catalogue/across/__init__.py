"""A run learns of another, or leaves something to it."""
