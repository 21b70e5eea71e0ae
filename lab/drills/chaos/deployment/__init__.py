"""The deployment that a chaos run breaks, and a reading of its jobs afterwards."""
