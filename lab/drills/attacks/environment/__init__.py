"""The surroundings of an attack: canaries on the host, a network namespace, the baseline
sandbox.
"""
