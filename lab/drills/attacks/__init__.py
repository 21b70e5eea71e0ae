"""Attacks on the sandbox. An operator runs them on a machine: `python -m lab.drills.attacks`."""
