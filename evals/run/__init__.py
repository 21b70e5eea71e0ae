"""A measurement: exercises worked on as jobs, and judged."""
