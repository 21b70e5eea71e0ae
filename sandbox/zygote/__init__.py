"""Processes that are forked with libraries loaded, ready to run code. They run inside a sandbox and
use the standard library only.

There are two entry points: `server.py` is the zygote of the backend `local`, `container.py` is the
first process of a Docker container.
"""
