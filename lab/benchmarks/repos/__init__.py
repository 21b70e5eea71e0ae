"""Runs on a repository's files, beside runs without files: `python -m lab.benchmarks.repos`."""
