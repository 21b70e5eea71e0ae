"""The forms of requests that the server of a model accepts: Fettle learns them from refusals,
remembers them, and lets an operator set them.

record      Capabilities: the record of one model
adapt       a request's body in the form that the record asks for
complaints  the sentences of a refusal, and the fields that they name
fields      the fields of a request that a server may do without
wording     how a sentence refuses a field
limits      the numbers of tokens in a sentence
history     fields and ids that a server needs in the replies of a conversation
learn       the next record, from a refusal and the body that was refused
store       CapabilityStore, the port that keeps the records
server      ModelServer: sends the requests of one model in the form that its server accepts
listing     ModelListing: the context that the server itself names

Why: docs/decisions/0073-learn-what-a-server-accepts.md
"""
