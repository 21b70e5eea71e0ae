"""What `agents.ports` asks for, over `jobs`, `sandbox` and the operator's settings."""
