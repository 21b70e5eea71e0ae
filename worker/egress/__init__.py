"""Egress: only this package opens connections from a worker to hosts outside the deployment.

hosts       which hosts and addresses a worker may connect to, by the operator's lists
transport   HTTP requests that connect only to checked addresses
pages       pages for the tool `fetch`
webhooks    one try to deliver a signed message to a webhook
chat, mail  messages for chats, and for mail
proxy       the HTTP proxy of a sandbox or of git
connection  the connection of a proxy's client
reads       which requests of the proxy only read, and which of their headers a host gets
authority   certificates for one run, so that the proxy can read its requests over TLS
"""
