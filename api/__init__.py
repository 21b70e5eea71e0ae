"""The HTTP front: JSON API, event streams, web pages. Knows jobs, nothing of graphs.

main        the process
app         create_app: settings -> application
http        the wire: the server and its bounds, bodies, answers
auth        the caller: keys, scopes, limits of a key
submission  from a checked request to a JobSpec
routes      one file a resource
schemas     what goes over the wire, as pydantic models
pages       the web pages, at /app
services    what the routes work with, opened at start-up and closed at the end
problems    the catalogue of errors, as RFC 9457 problems
"""
