"""Every canonical solution of HumanEval, with its tests, in a fresh sandbox: all must pass."""
