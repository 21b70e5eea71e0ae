"""A run takes more than its limits give it, or disturbs others."""
