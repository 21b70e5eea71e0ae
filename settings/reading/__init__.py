"""How settings are read: the files that they come from, and the types of addresses."""
