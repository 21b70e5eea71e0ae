"""J1 to J14 (docs/invariants.md), one module per group: `(ChaosCase) -> Iterator[Finding]`,
pure.
"""
