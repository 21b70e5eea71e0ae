"""What stands around the executor's model calls and tool calls.

Only wrapping hooks: each `before_` or `after_` hook would be a node of its own in the graph, and so
a checkpoint more for every step.
"""
