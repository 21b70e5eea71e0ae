"""The caller of a request, and the limits of a key."""
