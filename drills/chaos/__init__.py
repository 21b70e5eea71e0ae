"""Chaos: jobs under load while everything is killed; a log and a checker tell whether it held."""
