"""A measurement: exercises as jobs, and their judgement."""
