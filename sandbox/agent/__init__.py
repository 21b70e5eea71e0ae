"""What runs inside a sandbox, ahead of the code: standard library only, read from `/agent`.

Nothing here is trusted by the host: the code shares the agent's uid and may kill or stop it.

Every sandbox imports these modules anew, so they do without what is slow to import (dataclasses,
typing, pathlib, json, socket: 30 ms together, four times what the interpreter itself takes).
"""
