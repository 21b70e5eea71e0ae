"""Runs on a repository's files, compared with runs without files: `python -m
lab.benchmarks.repos`."""
