"""The Python client of Fettle, a self-hosted job queue for coding agents.

It is a distribution of its own, `fettle-client`, and needs only the address of a service:

| module | holds |
|---|---|
| `types` | the answers and the requests of the API, generated from its schemas |
"""
