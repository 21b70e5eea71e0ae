"""Commands that start programs on this machine."""
