"""`fettle chat`: one conversation at the terminal.

`commands` parses lines, `terminal` reads them, `chat` acts on them, and `following` shows a job
while it runs.
"""
