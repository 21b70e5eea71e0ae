"""The executor's agent loop: LangChain's, with middleware around model calls and tool calls.

The middleware has wrapping hooks only: each `before_` or `after_` hook would be a node of its own
in the graph, and so one more checkpoint for every step.
"""
