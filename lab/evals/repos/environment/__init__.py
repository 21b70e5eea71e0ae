"""What a task's tests run in: pinned packages, the project itself, and what builds either."""
