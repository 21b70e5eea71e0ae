"""Immutable bytes under their sha256, in a directory or a bucket, and workspaces made of them."""
