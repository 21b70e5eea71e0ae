"""After a failed run: the model reads a hint, or a stronger model takes over."""
