"""The program at the counter."""
