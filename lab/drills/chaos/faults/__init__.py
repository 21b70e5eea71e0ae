"""Faults of a chaos run: killed processes, broken networks, lost stores."""
