"""Every canonical solution of HumanEval, with its tests, in a fresh room: all must pass."""
