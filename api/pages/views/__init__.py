"""The pages, one file each, and what a form offers."""
