"""Pure functions from the service's answers to parts, and from parts to lines and pictures."""
