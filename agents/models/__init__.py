"""Chat models: naming, building and calling them.

name, options          a model's name, and the operator's settings for building models
providers              what Fettle knows about each provider; one file for each
build, pool            from a name to a model that can be called; models are kept and shared
role_models            the models of one job by role, with their fallbacks and stronger models
provider               ProviderModel: one model with Fettle's retries and Fettle's errors
token_bounds           the limit on output tokens, and the most tokens that a request can use
call_context           the data of one request that client libraries do not pass on
capabilities           the requests that a server accepts: learned, or set by an operator
transport, streams     the HTTP client, and the assembly of streamed replies by protocol
replies                reading replies, and sending them back in a conversation
error_mapping          from a provider's error to Fettle's
"""
