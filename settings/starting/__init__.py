"""A process that starts: its environment, its settings, and the names that are none."""
