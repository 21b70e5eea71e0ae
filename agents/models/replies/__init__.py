"""Reads replies: why one ended, the value in it, and text that other code accepts."""
