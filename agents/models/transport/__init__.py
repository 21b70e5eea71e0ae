"""The HTTP connections on which providers are called."""
