"""Following a job to its end at a terminal: its events as they come, and questions to a person."""
