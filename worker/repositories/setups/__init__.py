"""Setups: the dependencies of a repository are installed once, and become a layer.

setup      Setups: from a command to its layer; the setup of a job, with its events
detected   the command that installs a project, by the project's files (pure)
run        one run of the command in a sandbox: its inputs, its network, the reason of a failure
inside     the program in the sandbox: it runs the command and sends the result
archive    the sent result, unpacked

See ADR 56.
"""
