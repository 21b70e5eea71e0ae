"""The asynchronous client. `deploy/client_code.py` makes the synchronous client from it.

See ADR 100.
"""
