"""A run uses a part of the kernel that it must not use."""
