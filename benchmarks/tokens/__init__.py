"""What a long job sends: input tokens with and without the trimming of its history.

The jobs go through the real graph, with its middleware, a provider's true client and the real
sandbox; what is counted is the bodies that a local provider server receives.
"""
