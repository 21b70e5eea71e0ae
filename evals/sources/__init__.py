"""Sets of exercises, from where they come."""
