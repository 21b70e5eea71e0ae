"""Acceptance checks: the caller's requirements, tried over a copy of the workspace.

judge         the entry point: files and checks in, a Report out
command       the command that runs test files
copied_files  the files of a workspace that are copied for checks
commit        the commit of a job's repository, which configures the checks
cases         programs that are started with an input and compared by their output and files
reports       the report, and its texts in the state, events and prompts
tester_tests  which tests of the job's own tester are useful

`agents.ports.checks` has the types of the request. docs/checks.md has the limits.
"""
