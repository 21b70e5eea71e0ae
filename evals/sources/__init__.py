"""Sources of exercise sets."""
