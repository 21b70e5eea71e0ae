"""Failures: why a run failed, what the model hears of it, and when a stronger model takes over."""
