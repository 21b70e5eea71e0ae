"""The HTTP connections to providers."""
