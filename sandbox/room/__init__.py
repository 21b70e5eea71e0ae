"""What runs inside a room, ahead of the code: standard library only, read from `/room`.

Nothing here is trusted by the host: the code shares the agent's uid and may kill or stop it.
"""
