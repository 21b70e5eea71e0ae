"""Chat models: naming, building and calling them.

name, options          a model's name, and the operator's settings for building models
providers              what Fettle knows about each provider; one file for each
build, pool            from a name to a model that can be called; models are kept and shared
role_models            the models of one job by role, with their fallbacks and stronger models
provider               ProviderModel: one model with Fettle's retries and Fettle's errors
token_bounds           the limit on output tokens, and the most tokens that a request can use
call_context           the data of one request that client libraries do not pass on
capabilities           what the server of a model accepts: learned, or set by an operator
transport, streams     the HTTP client, and the assembly of streamed replies by protocol
replies                what a reply holds, and how a conversation is sent
error_mapping          from a provider's error to Fettle's
"""
