"""How a job is shown on a page. Pure."""
