"""Acceptance checks: the caller's requirements, tried over a copy of the workspace.

judge         the entry point: files and checks in, a Report out
checks        what is asked for: test files with a command, and cases
cases         programs that are started with given input and judged by what they leave
tester_tests  which tests of the job's own tester are useful

docs/checks.md says what a check is protected from, and what it is not.
"""
