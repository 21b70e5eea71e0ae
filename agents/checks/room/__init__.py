"""What runs inside a room when checks are judged: the standard library and pytest, nothing of ours.

`supervisor` is the trusted first program. It works out from the checks' source which tests there
must be (`expected`), forks the tested process (`tested`), and believes of that one what it is told
test by test over a pipe (`channel`). Only then is anything of the workspace importable.
"""
