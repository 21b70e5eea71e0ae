"""What the server of a model accepts: learned from its refusals, remembered, set by an operator.

record      Capabilities: what is known of one model
adapt       a request's body in the form that the record asks for
complaints  the sentences of a refusal, and the fields that they name
fields      the fields of a request that a server may do without
wording     how a sentence refuses a field
limits      the numbers of tokens in a sentence
history     fields and ids that a server needs in the replies of a conversation
learn       the next record, from a refusal and the body that was refused
store       CapabilityStore, the port that keeps the records
server      ModelServer: all of this for one model's requests
listing     ModelListing: the context that the server itself names

Why: docs/decisions/0073-learn-what-a-server-accepts.md
"""
