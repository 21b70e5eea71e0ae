"""The ports of `agents.ports`, implemented over `jobs`. Journal and Events are the Ledger's."""
