"""After a failed run: what the model reads, and when a stronger model takes over."""
