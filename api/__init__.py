"""The HTTP front: JSON API, event streams, documentation page. Knows jobs, nothing of graphs.

main       create_app: settings -> application
routes     one file a noun
schemas    what goes over the wire, as pydantic models; the command line reads with them
services   what the routes work with, opened at start-up and closed at the end
problems   every way to say no, as RFC 9457 problems
"""
