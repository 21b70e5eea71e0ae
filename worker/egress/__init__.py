"""Reaching out: the only place where a worker opens a connection that a model has asked for."""
