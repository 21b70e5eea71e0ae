"""What probes of several attacks share. Functions that run in a room are sent by their source."""
