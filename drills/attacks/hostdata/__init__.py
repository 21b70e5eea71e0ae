"""A run reads what belongs to the host."""
