"""Runs: how a program is run in a sandbox, the record of it, and the report that a model reads."""
