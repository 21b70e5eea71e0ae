"""What tools do for a job with a repository, where the sandbox has the program for it."""
