"""The pages, one file each, and the choices of the form."""
