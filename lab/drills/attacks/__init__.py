"""Attacks on the sandbox, for an operator to run on his own machine: `python -m
lab.drills.attacks`."""
