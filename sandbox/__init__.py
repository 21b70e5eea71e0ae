"""Running untrusted code in a room of its own: see `protocol.py` for what others call."""
