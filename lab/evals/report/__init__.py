"""A measurement's results as statistics, tables and plots. Pure."""
