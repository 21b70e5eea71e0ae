"""Who asks, and how much a key may ask for."""
