"""The attacks: a module for each category, or a package with a module for each theme."""
