"""The time of the pages with many waiting jobs, compared with the pages of another checkout."""
