"""What runs inside a sandbox when test files are judged: the standard library and pytest alone.

`supervisor` is the trusted first program. It reads the expected tests from the checks' source
(`expected`), forks the test process (`tested`, with `session` as pytest plugin), and receives one
report for each test over a pipe (`channel`). Only the test process can import the workspace.
"""
