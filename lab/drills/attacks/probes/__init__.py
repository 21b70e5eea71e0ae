"""What is sent into a sandbox for an attack: the source of probes, and of their shared
functions."""
