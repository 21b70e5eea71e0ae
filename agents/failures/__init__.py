"""Failures: why a run failed, what the model reads about it, when a stronger model takes over."""
