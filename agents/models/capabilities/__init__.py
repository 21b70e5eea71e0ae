"""What the server of a model accepts: learned from its refusals, remembered, set by an operator.

record     Capabilities: what is known of one model
adapt      a request's body in the form that the record asks for
refusals   the complaints in a refusal: which field, and why
learn      the next record, from a refusal and the body that was refused
store      CapabilityStore, the port that keeps the records
server     ModelServer: all of this for one model's requests
listing    ModelListing: the context that the server itself names

Why: docs/decisions/0073-learn-what-a-server-accepts.md
"""
