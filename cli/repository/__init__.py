"""The user's own git repository: bundled for a job, and patched with what came of it."""
