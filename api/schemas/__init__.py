"""Requests and responses as pydantic models. Free of FastAPI."""
