"""Reads replies: their finish reasons, their values, and tool calls and thoughts in their texts."""
