"""Calls to models and tools that are made once, whatever crashes: the journal has the rest."""
