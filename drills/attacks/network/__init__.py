"""A run reaches something beyond its own loopback."""
