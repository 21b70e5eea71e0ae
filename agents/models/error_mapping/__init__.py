"""From what a provider's client raises to Fettle's own errors."""
