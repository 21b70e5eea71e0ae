"""Acceptance checks: tests of the caller's that run over a copy of the workspace, and a judge.

`judge` is all that others need; `room/` goes on inside the sandbox. docs/checks.md tells what a
check is safe from, and what it is not.
"""
