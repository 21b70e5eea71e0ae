"""A process that starts: its settings, and the names that are none."""
