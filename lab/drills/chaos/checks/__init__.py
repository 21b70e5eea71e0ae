"""J1 to J14 (docs/invariants.md), a module a family: `(Case) -> Iterator[Finding]`, pure."""
