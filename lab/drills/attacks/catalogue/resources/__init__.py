"""A run uses more than its limits allow, or disturbs other runs."""
