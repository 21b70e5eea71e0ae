"""Attacks on the sandbox of a machine: `python -m lab.drills.attacks`."""
