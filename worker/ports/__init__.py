"""The ports of `agents.ports`, implemented over `jobs`."""
