"""Acceptance checks: what the caller wants to hold, tried over a copy of the workspace.

judge       the one function that others need: files and checks in, a Report out
checks      what is asked for: test files with a command, and cases
cases       programs that are started with given input, and judged from outside by what they leave
supervised/ what goes on inside the sandbox where test files are run
notices     sources of the solution that touch test machinery
sieve       which tests of the job's own tester are of use

docs/checks.md says what a check is safe from, and what it is not.
"""
