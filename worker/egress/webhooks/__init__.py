"""Webhooks: what is in the outbox is sent, signed, to the one address that the operator names."""
