"""Tools that a worker has only if the operator lists packages or hosts for them."""
