"""Showing things: pure functions from what the service says to parts, lines and pictures."""
