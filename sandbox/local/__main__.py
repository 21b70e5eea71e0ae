"""Starts a supervisor: `python -m sandbox.local DESCRIPTOR`."""

from sandbox.local.supervisor import main

main()
