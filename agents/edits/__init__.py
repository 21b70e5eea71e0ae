"""Changing a text in places: by exact replacement, or by a unified diff. Pure.

Both are whole or not at all, and never guess: what does not fit exactly is refused, in words that
say what would.
"""
