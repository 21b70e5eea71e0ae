"""The start of a process: its environment, its settings, and names that are no settings."""
