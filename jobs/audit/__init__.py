"""The audit log: an append-only, hash-chained record of each tenant, which outlives its jobs.

A commit appends an entry to the tenant's pending entries in the atomic step that makes the change,
so no entry is lost, and commits do not wait for each other. Later a sealer moves pending entries
into the chain (`jobs.store.audit`).

entries       the kinds of entries; the entries of a change, of a deletion, of a key
chain         the line of a sealed entry, and its hash
signing       signatures over the head of the chain (Ed25519)
verification  checks an exported log offline

See ADR 91.
"""
