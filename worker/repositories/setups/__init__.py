"""Setups: a repository's dependencies are installed once, and become a layer.

job        the setup of a job, and the events that tell of it
detected   which command installs it, by the project's own files (pure)
setup      Setups: from a command to its layer, made by the first job that wants it
run        one run of the command in a sandbox: what goes in, and why it failed
inside     the program in the sandbox: it runs the command and sends what that left
door       the run's network: a proxy to the operator's indexes, and the way out for what is left
archive    what was sent, unpacked

Why: docs/decisions/0056-dependencies-are-a-layer.md
"""
