"""Egress: the only place where a worker opens connections to hosts outside the deployment."""
