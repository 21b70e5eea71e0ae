"""Running untrusted code in a sandbox of its own: see `protocol.py` for what others call."""
