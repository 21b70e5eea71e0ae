"""What is sent into a sandbox for an attack: probes, by their source, and what they share."""
