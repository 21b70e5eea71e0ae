"""The forms of requests that the server of a model accepts: Fettle learns them from refusals,
remembers them, and lets an operator set them.

record    Capabilities: the record of one model, and CapabilityStore, the port that keeps records
body      a request's body in the form that the record asks for
history   fields and ids that a server needs in the replies of a conversation
wordings  how a sentence refuses a field, and the numbers of tokens in a sentence
learn     the next record, from a refusal and the body that was refused
server    ModelServer: sends requests in the form that the server accepts; the server's own list

See ADR 73.
"""
