"""A run talks to the host's side in words that are not its to say."""
