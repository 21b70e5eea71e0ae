"""The input tokens of a long job, with and without trimming of its history.

The jobs run through the real graph, with its middleware, a provider's real client and the real
sandbox. The bodies of requests to a local provider are counted.
"""
