"""A run uses a part of the kernel that is not for it."""
