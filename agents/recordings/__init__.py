"""Recordings: a job's model calls in a file, and playing them. The YAML files ship with Fettle."""
