"""Fettle as an MCP server, for agents in editors.

`server` defines the tools and resources over an `AsyncClient`, and `views` the texts of their
results. `python -m fettle.mcp` serves them over stdio; the API of the service serves them at /mcp.
It needs the extra `fettle-client[mcp]`.
"""
