"""The system call filter: which calls pass, assembled to BPF, and in a container engine's form."""
