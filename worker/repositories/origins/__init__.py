"""Where repositories come from: hosts of the operator's list, and uploads."""
