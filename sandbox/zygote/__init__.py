"""Processes that are forked ready for code, libraries loaded: standard library only, in a sandbox.

Two entries: `server.py` of the local backend's zygote, `container.py` of a Docker container.
"""
