"""Runs on a repository's files, beside runs without files: `python -m benchmarks.repos`."""
