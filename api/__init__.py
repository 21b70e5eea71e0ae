"""The HTTP front: JSON API, event streams, web pages. Knows jobs, nothing of graphs.

main       create_app: settings -> application
routes     one file a noun
pages      what a person sees in a browser, at /app
schemas    what goes over the wire, as pydantic models
services   what the routes work with, opened at start-up and closed at the end
problems   every way to say no, as RFC 9457 problems
"""
