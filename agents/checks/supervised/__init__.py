"""What runs inside a sandbox when test files are judged: the standard library and pytest alone.

`supervisor` is the trusted first program. It reads from the checks' source which tests there must
be (`expected`), forks the tested process (`tested`, with `session` as pytest's plug-in), and takes
one report for each test over a pipe (`channel`). Only then can anything of the workspace be
imported.
"""
