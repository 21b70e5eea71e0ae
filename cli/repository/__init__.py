"""The user's git repository: bundled for a job, and patched with the job's result."""
