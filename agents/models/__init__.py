"""Chat models: naming, building and calling them.

name, options, chains      which model answers which role, by setting and by job
build, pool, role_models   from a name to a model that can be called; kept and shared
provider, providers        what every provider has in common; one file for each
fallback, retry, router    when a call is repeated, goes to another model, or chooses one
capabilities               what the server of a model accepts: learned, or set by an operator
transport, streams         the HTTP client, and the assembly of streamed replies by protocol
replies, error_mapping     what a reply holds; from a provider's error to Fettle's
call_context               who receives the parts of a reply, and who checks each request
"""
