"""The HTTP front: JSON API, event streams, web pages. It does not know graphs.

main        the process
app         create_app: settings -> application
http        the server and its limits, request bodies, responses, event streams
auth        the caller: keys, scopes, limits of a key
submission  from a request to a job, and decisions on reviews
changes     the change of a job's work, as the files of a patch
routes      the endpoints, one file a resource
schemas     requests and responses as pydantic models
pages       the web pages, at /app
services    the objects that the routes use, opened at start-up and closed at the end
problems    the catalogue of errors, as RFC 9457 problems
"""
